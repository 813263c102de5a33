"""Run every question of a side: `run_all.py bench`, or `repro`; `run_all.py bench allocators` only
that one.

Goes on after one that fails, and then exits 1.
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = ("run.py", "reasons.toml")


def run_all(folder: Path, only: str = "*") -> list[str]:
    """Run each question of `folder`, or only that one, one after the other; return the names of
    those that failed. A name that is not there has failed. A question is a folder with one of
    QUESTIONS; the side's __main__.py runs it."""
    failed = []
    questions = sorted(
        path.parent for file in QUESTIONS for path in folder.glob(f"{only}/{file}")
    )
    if not questions:
        return [f"{folder.name}/{only}: not found"]
    for question in questions:
        name = f"{folder.name}/{question.name}"
        print(f"---- {name}", file=sys.stderr, flush=True)
        started = time.monotonic()
        command = [sys.executable, "-m", folder.name, question.name]
        if subprocess.run(command, cwd=folder.parent).returncode:
            failed.append(name)
        print(f"---- {name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return failed


if __name__ == "__main__":
    failures = run_all(ROOT / sys.argv[1], *sys.argv[2:3])
    print("failed: " + ", ".join(failures) if failures else "all done", file=sys.stderr)
    sys.exit(1 if failures else 0)

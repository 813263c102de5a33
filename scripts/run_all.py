"""Run every question of a side: `run_all.py bench`, or `repro`, calls each of its */run.py;
`run_all.py bench allocators` only that one's.

Goes on after one that fails, and then exits 1.
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run_all(folder: Path, only: str = "*") -> list[str]:
    """Run each run.py of `folder`, or only that one's, one after the other; return the names of
    those that failed. A name that is not there has failed."""
    failed = []
    scripts = sorted(folder.glob(f"{only}/run.py"))
    if not scripts:
        return [f"{folder.name}/{only}: not found"]
    for script in scripts:
        name = f"{folder.name}/{script.parent.name}"
        module = [f"{folder.name}.{script.parent.name}.run"]
        if (folder / "__main__.py").exists():  # it runs all of its folders
            module = [folder.name, script.parent.name]
        print(f"---- {name}", file=sys.stderr, flush=True)
        started = time.monotonic()
        if subprocess.run([sys.executable, "-m", *module], cwd=folder.parent).returncode:
            failed.append(name)
        print(f"---- {name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return failed


if __name__ == "__main__":
    failures = run_all(ROOT / sys.argv[1], *sys.argv[2:3])
    print("failed: " + ", ".join(failures) if failures else "all done", file=sys.stderr)
    sys.exit(1 if failures else 0)

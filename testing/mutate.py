"""How strong are the tests: mutants by operators, and how many of them a command notices.

    python -m testing.mutate core/tlsf.c --sample 40 -- python -m pytest -x core/tests/heap

The tree is copied once. Each mutant is a change in one file of the copy, in which COMMAND then
runs; the mutant is killed if COMMAND fails or takes too long. A mutant that BUILD refuses is not
counted, and one that leaves the output of SAME unchanged is equivalent. Other
equivalents are listed with their reason in testing/equivalents.toml. The same seed gives the same
mutants as long as the files stay the same, so that two sets of tests can be compared.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from pathlib import Path

from testing.operators import Change, changes_of

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENTS = ROOT / "testing" / "equivalents.toml"
SECONDS_MIN = 300.0  # a machine that is loaded is slow
SLOWER = 5.0  # than without a mutant: it does not end


def copied(folder: Path) -> Path:
    """FOLDER, filled with the files that git knows or would add, and with the built files."""
    line = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    for built in (ROOT / "tool" / "tautochrone").glob("*"):
        if built.name in {"_native", "targets"}:
            shutil.copytree(built, folder / built.relative_to(ROOT), symlinks=True)
    (folder / ".venv").symlink_to((ROOT / ".venv").resolve())
    return folder


def run(command: list[str] | str, folder: Path, seconds: float | None) -> tuple[bool, str]:
    """Whether COMMAND succeeds in FOLDER within SECONDS, and its output."""
    environment = os.environ | {
        "PYTHONPATH": f"{folder / 'tool'}:{folder}",
        "PATH": f"{folder / '.venv' / 'bin'}:{os.environ['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TAU_TEST_SEED": os.environ.get("TAU_TEST_SEED", "1"),
    }
    process = subprocess.Popen(
        command,
        shell=isinstance(command, str),
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return False, "no end"
    return process.returncode == 0, said


def known_equivalents() -> dict[tuple[str, str, str, str], str]:
    """(file, line of text, old, new) to the reason, of mutants that no test can notice."""
    rows = tomllib.loads(EQUIVALENTS.read_text())["equivalent"] if EQUIVALENTS.exists() else []
    return {(row["file"], row["line"], row["old"], row["new"]): row["reason"] for row in rows}


def key_of(name: str, text: str, change: Change) -> tuple[str, str, str, str]:
    """What names CHANGE of file NAME in the list of equivalents, wherever its line moves."""
    line = text.splitlines()[text.count("\n", 0, change.start)].strip()
    return name, line, change.old, change.new


def chosen(names: list[str], sample: int, seed: int) -> list[tuple[str, Change]]:
    """SAMPLE changes of the files NAMES, the same for the same SEED and texts."""
    known = known_equivalents()
    found = []
    for name in names:
        text = (ROOT / name).read_text()
        changes = changes_of(ROOT / name)
        found += [(name, each) for each in changes if key_of(name, text, each) not in known]
    return sorted(
        random.Random(seed).sample(found, min(sample, len(found))),
        key=lambda each: (each[0], each[1].start),
    )


def arguments_of(words: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m testing.mutate",
        usage="%(prog)s FILE… [--sample N] [--seed N] [--build COMMAND] [--same COMMAND]"
        " -- COMMAND…",
        description="Count the mutants of FILE… that COMMAND notices. Run in a copy of the tree.",
    )
    parser.add_argument("files", nargs="+", help="C, SystemVerilog or Python files of the tree")
    parser.add_argument("--sample", type=int, default=40, help="number of mutants (40)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the choice (1)")
    parser.add_argument("--build", help="shell command before COMMAND; fails: not a mutant")
    parser.add_argument("--same", help="shell command; prints the same: an equivalent mutant")
    own = words[: words.index("--")] if "--" in words else words
    chosen_words = parser.parse_args(own)
    chosen_words.command = words[len(own) + 1 :]
    if not chosen_words.command:
        parser.error("no COMMAND after --")
    return chosen_words


def main(words: list[str]) -> int:
    """Try each mutant, name those that live; exit 1 if the tests fail without a mutant."""
    wanted = arguments_of(words)
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = copied(Path(name))
        if wanted.build and not (built := run(wanted.build, folder, None))[0]:
            print(built[1][-3000:], "\nthe build fails without a mutant", file=sys.stderr)
            return 1
        plain = run(wanted.same, folder, None)[1] if wanted.same else None
        start = time.monotonic()
        passes, said = run(wanted.command, folder, None)
        seconds = max(SECONDS_MIN, SLOWER * (time.monotonic() - start))
        if not passes:
            print(said[-3000:], "\nthe tests fail without a mutant", file=sys.stderr)
            return 1
        outcomes: Counter[str] = Counter()
        for file, change in chosen(wanted.files, wanted.sample, wanted.seed):
            text = (ROOT / file).read_text()
            (folder / file).write_text(change.made(text))
            outcome = outcome_of(wanted, folder, plain, seconds)
            (folder / file).write_text(text)
            outcomes[outcome] += 1
            if outcome == "lives":
                print(f"lives: {file}:{change.described(text)}", flush=True)
        counted = outcomes["killed"] + outcomes["lives"]
        print(
            f"killed {outcomes['killed']} of {counted} "
            f"(not compiled {outcomes['not compiled']}, equivalent {outcomes['equivalent']}; "
            f"seed {wanted.seed})"
        )
    return 0


def outcome_of(
    wanted: argparse.Namespace, folder: Path, plain: str | None, seconds: float
) -> str:
    """What becomes of the mutant that is in FOLDER."""
    if wanted.build and not run(wanted.build, folder, None)[0]:
        return "not compiled"
    if wanted.same:
        compiles, printed = run(wanted.same, folder, None)
        if not compiles:
            return "not compiled"
        if printed == plain:
            return "equivalent"
    return "lives" if run(wanted.command, folder, seconds)[0] else "killed"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

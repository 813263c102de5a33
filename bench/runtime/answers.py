"""Linux programs that answer under `tau run` as they do without: exit status and output.

`python -m bench.runtime.answers [NAME]...` runs each of answers.toml both ways in a folder of its
own, prints those that differ, and writes out/bench/runtime_answers.json. Programs that are not
installed are skipped and counted. Exit status 1 if one differs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from bench.runtime.programs import HERE, ROOT

OUT = ROOT / "out" / "bench"
TABLE = HERE / "answers.toml"
LEAST = 60
TIMEOUT_S = 300
SHOWN_BYTES = 200
TAU = (sys.executable, "-m", "tautochrone", "-q", "run", "--")


@dataclass(frozen=True)
class Program:
    """One row: what is run in a folder with these files, and what has to be installed for it."""

    name: str
    words: list[str]
    files: dict[str, str]
    needs: list[str]

    @property
    def is_here(self) -> bool:
        """Whether all of it is installed."""
        return all(shutil.which(name) or Path(name).exists() for name in self.needs)


@dataclass(frozen=True)
class Answer:
    """How a program ended, and what it printed; the time limit counts as status 124."""

    status: int
    output: bytes


def programs() -> list[Program]:
    """All rows of the table. A row without `words` is a script of the shell."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    found = []
    for name, row in rows.items():
        words = row.get("words") or ["sh", "-c", row["shell"]]
        found.append(Program(name, words, row.get("files", {}), row.get("needs", words[:1])))
    return found


def answer(prefix: tuple[str, ...], one: Program) -> Answer:
    """What the program answers when it is started by `prefix`."""
    with tempfile.TemporaryDirectory(prefix="answers-") as name:
        folder = Path(name)
        for file, text in one.files.items():
            (folder / file).write_text(text, encoding="utf-8")
        environment = os.environ | {"HOME": name, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        try:
            done = subprocess.run(
                [*prefix, *one.words],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            return Answer(124, b"")
    return Answer(done.returncode, done.stdout.replace(os.fsencode(name), b"FOLDER"))


def differs(one: Program) -> str:
    """How the two answers differ; empty if they are the same."""
    plain, ours = answer((), one), answer(TAU, one)
    if plain == ours:
        return ""
    outputs = f"{ours.output[-SHOWN_BYTES:]!r} for {plain.output[-SHOWN_BYTES:]!r}"
    return f"status {ours.status} for {plain.status}, {outputs}"


def main(names: list[str]) -> int:
    """Compare the named programs, or all; print the ones that differ and a line of counts."""
    OUT.mkdir(parents=True, exist_ok=True)
    rows = [one for one in programs() if not names or one.name in names]
    here = [one for one in rows if one.is_here]
    wrong = {}
    for one in here:
        if difference := differs(one):
            wrong[one.name] = difference
            print(f"{one.name}: {difference}", flush=True)
    skipped = [one.name for one in rows if not one.is_here]
    same = len(here) - len(wrong)
    result = {"version": 1, "same": same, "differ": wrong, "skipped": skipped, "least": LEAST}
    (OUT / "runtime_answers.json").write_text(json.dumps(result, indent=2) + "\n")
    print(f"{same} of {len(here)} answer as without; {len(skipped)} not installed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Linux programs that answer under `tau run` as they do without: exit status and output.

`python -m bench runtime.answers [NAME]...` runs each of answers.toml both ways in a folder of its
own, complains of those that differ, and writes out/bench/runtime_answers.json. Programs that are
not installed are skipped and counted.
"""

import os
import shutil
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import commands
from bench.runner import Bench, Given
from bench.runtime.programs import HERE

TABLE = HERE / "answers.toml"
LEAST = 60
TIMEOUT_S = 300
SHOWN_BYTES = 200
TAU = (*commands.TAU, "-q", "run", "--")


@dataclass(frozen=True)
class Program:
    """One row: a command that runs in a folder with these files, and the programs that it needs."""

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
    """A program's exit status and output; the time limit counts as status 124."""

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
    """The program's answer when it is started by `prefix`."""
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


def measure(given: Given) -> dict[str, Any]:
    """The programs that were named, or all: which differ, and how."""
    rows = [one for one in programs() if not given.words or one.name in given.words]
    here = [one for one in rows if one.is_here]
    answers = {one.name: differs(one) for one in here}
    wrong = {name: difference for name, difference in answers.items() if difference}
    skipped = [one.name for one in rows if not one.is_here]
    same = len(here) - len(wrong)
    return {"version": 1, "same": same, "differ": wrong, "skipped": skipped, "least": LEAST}


def lines(result: dict[str, Any]) -> list[str]:
    """How many of each."""
    here, skipped = result["same"] + len(result["differ"]), len(result["skipped"])
    return [f"{result['same']} of {here} answer as without; {skipped} not installed"]


def complaints(result: dict[str, Any]) -> list[str]:
    """Programs that differ."""
    return [f"{name}: {difference}" for name, difference in result["differ"].items()]


BENCH = Bench("runtime_answers", measure, lines, complaints)

"""The command that makes a plan again, as its file and the files near it say.

    print(f"next: {again(path, load_plan(path), more=[later])}")
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tautochrone.files import output_file
from tautochrone.plan.file import Plan, comment
from tautochrone.plan.verified import sha256_of

START = "tau plan"
FLAGS = ("--guarantee", "--sizes-as-recorded", "--skip-misuse", "--fixed-input")
VALUES = ("--planner", "--classes-max", "--margin", "--layout", "--pools")
FILES = ("--limits", "--elf", "--build", "--header")  # options of `tau plan` that name a file


def made_by(names: Sequence[str], options: Sequence[str], files: Mapping[str, Path | None]) -> str:
    """The command line of a plan's comment: without folders, and without the plan's own name."""
    words = [START, *names, *options]
    for option in FILES:
        path = files.get(option)
        if path is not None and not output_file.is_stream(path):
            words += [option, shlex.quote(path.name)]
    return " ".join(words)


def again(path: Path, plan: Plan, more: Sequence[Path] = ()) -> str:
    """The command that replaces the plan at `path` by one of its recordings and `more`.

    It has the plan's own options. Its files are named where they are: next to the plan, or for
    recordings next to one of `more`. A recording that is neither there nor unchanged has its name
    alone.
    """
    folders = [path.parent, *(one.parent for one in more)]
    recordings = [_recording(trace, folders) for trace in plan.traces]
    known = {one.resolve() for one in recordings}
    recordings += [one for one in more if one.resolve() not in known]
    words = _options(path, plan)
    for place, word in enumerate(words[:-1]):
        if word in FILES:
            words[place + 1] = _plain(_found(words[place + 1], folders[:1]))
    return shlex.join(
        [*START.split(), *map(_plain, recordings), *words, "-o", _plain(path), "--force"]
    )


def _plain(path: Path) -> str:
    """A path that is not read as an option."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def _recording(trace: Any, folders: Sequence[Path]) -> Path:
    """The file of this recording in one of the folders, not another one of its name."""
    there = (each / trace.name for each in folders if (each / trace.name).is_file())
    return next((one for one in there if sha256_of(one) == trace.sha256), Path(trace.name))


def _found(name: str, folders: Sequence[Path]) -> Path:
    """The file of this name in the first of the folders that has it; else the name alone."""
    return next((each / name for each in folders if (each / name).exists()), Path(name))


def _options(path: Path, plan: Plan) -> list[str]:
    """The options that the plan's comment names; those that matter most if it has none."""
    start = comment(" ".join([START, *(trace.name for trace in plan.traces)]))
    for line in path.read_text(encoding="utf-8").split("\n"):
        _, _, told = line.partition(": ")
        if line.startswith("# Made by") and told.startswith(f"{start} "):
            try:
                words = shlex.split(told.removeprefix(start))
            except ValueError:  # a damaged comment
                break
            if _is_ours(words):
                return words
            break
    return ["--guarantee"] if plan.system == "pools" else []


def _is_ours(words: Sequence[str]) -> bool:
    """Whether `made_by` can have written them: a comment may name no other file and no output."""
    left = list(words)
    while left:
        word = left.pop(0)
        if word in FLAGS:
            continue
        value = left.pop(0) if left else "-"
        if word not in (*VALUES, *FILES) or value.startswith("-") or "/" in value:
            return False
    return True

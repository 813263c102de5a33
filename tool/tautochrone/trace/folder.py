"""A folder of traces in the place of the traces."""

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tautochrone.errors import EXIT_USAGE, TauError

SUFFIX = ".tau"


def program_name(command: Sequence[str], program: str = "") -> str:
    """The name by which a program was started, without folders; else that of its file."""
    called = os.path.basename(command[0]) if command else ""
    return called or os.path.basename(program)


def is_named(name: str, only: Sequence[str]) -> bool:
    """Whether a program's name matches one of the patterns of --only; without any, it does."""
    return not only or any(fnmatchcase(name, pattern) for pattern in only)


def of_one_program(paths: Sequence[Path], only: Sequence[str]) -> tuple[Path, ...]:
    """The traces of traces_in, with `only` those of programs of these names.

    Raises TauError if none is left, or if without `only` a folder has recordings of different
    programs. Files that are named one by one may be of different programs.
    """
    folders = [path for path in paths if path.is_dir()]
    found = traces_in(paths)
    if not only and not folders:
        return found
    names = {path: _recorded_program(path) for path in found}
    kept = tuple(path for path in found if is_named(names[path], only))
    counts = Counter(names[path] for path in found if only or path not in paths)
    told = ", ".join(f"{name or 'unnamed'} ({count})" for name, count in counts.most_common(8))
    told += f" and {len(counts) - 8} more" if len(counts) > 8 else ""
    if not kept:
        raise TauError(
            f"no recording is of a program named {' or '.join(only)}; there are {told}",
            "name one of these with --only",
            EXIT_USAGE,
        )
    if len(counts) > 1 and not only:
        where = shlex.join(map(str, folders))
        named = shlex.quote(counts.most_common(1)[0][0] or "*")
        raise TauError(
            f"{where} has recordings of {len(counts)} programs, and a plan is for one: {told}",
            f"plan one of them: tau plan {where} --only {named}; or name files to plan for all",
            EXIT_USAGE,
        )
    return kept


def _recorded_program(path: Path) -> str:
    """The name of the program of a trace; empty if the trace does not say."""
    from tautochrone.trace.file import open_trace

    with open_trace(path) as reader:
        command: Any = reader.header.get("command")
        program = reader.header.get("program", "")
    words = command if isinstance(command, list) else str(command or "").split()
    return program_name([str(word) for word in words], str(program))


def traces_in(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The paths, with every folder replaced by its traces. Raises TauError if it has none."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        traces = sorted(path.glob(f"*{SUFFIX}"), key=_order)
        if not traces:
            raise TauError(
                f"{path} is a folder without a trace (*{SUFFIX})",
                f"tau record --runs 5 -o {path} -- PROGRAM",
                EXIT_USAGE,
            )
        found += traces
    return tuple(found)


def _order(path: Path) -> list[tuple[bool, int, str]]:
    """Order by name, with numbers in it by their value and before words: 2.tau before 10.tau."""
    return [
        (False, int(part), "") if part.isdecimal() else (True, 0, part)
        for part in re.split(r"([0-9]+)", path.name)
        if part
    ]

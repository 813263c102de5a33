"""A folder of traces in the place of the traces."""

import re
from collections.abc import Iterable
from pathlib import Path

from tautochrone.errors import EXIT_USAGE, TauError

SUFFIX = ".tau"


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

"""Finds the files of a pattern like tasks/*.c or **/*.c, and gives up where it would take long."""

import glob
import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from tautochrone.errors import TauError

ENTRIES_MAX = 100_000


def files_of(pattern: str, folder: Path) -> list[Path]:
    """Return the files that match a pattern, from FOLDER, in order; as `glob.glob` finds them.

    Raises TauError if it would have to look at more than ENTRIES_MAX names.
    """
    found = _found(folder, Path(pattern).parts, iter(range(ENTRIES_MAX)), pattern)
    return sorted({path for path in found if os.path.isfile(path)})


def _found(
    folder: Path, parts: Sequence[str], left: Iterator[int], pattern: str
) -> Iterator[Path]:
    if not parts:
        yield folder
        return
    part, *rest = parts
    if not glob.has_magic(part):
        yield from _found(folder / part, rest, left, pattern)
        return
    is_deep = part == "**"
    if is_deep:
        yield from _found(folder, rest, left, pattern)
    for name in _names_in(folder):
        if next(left, None) is None:
            cause = f"{pattern}: more than {ENTRIES_MAX:,} files and folders to search"
            raise TauError(cause, "begin the pattern with the folder that has the files")
        if name.startswith(".") and not part.startswith("."):
            continue
        if is_deep:
            yield from _found(folder / name, parts, left, pattern)
        elif fnmatchcase(name, part):
            yield from _found(folder / name, rest, left, pattern)


def _names_in(folder: Path) -> list[str]:
    """The names in a folder; none if it is none, or cannot be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []

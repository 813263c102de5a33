"""Refuses inputs that are not regular files.

Commands read an input more than once and to its end. A pipe cannot be read again, and a device may
have no end.
"""

import stat
from pathlib import Path

from tautochrone.errors import EXIT_USAGE, TauError

KINDS = {
    stat.S_IFDIR: ("folder", "name one of the files in it"),
    stat.S_IFIFO: ("pipe", "write it to a file first, and name that file"),
    stat.S_IFSOCK: ("socket", "write it to a file first, and name that file"),
    stat.S_IFCHR: ("device", "copy the data to a file, and name that file"),
    stat.S_IFBLK: ("device", "copy the data to a file, and name that file"),
}


def check(path: Path, what: str, missing_step: str = "check the path") -> None:
    """Refuse an input before it is opened.

    Fails (TauError) if and only if, after following links, it is missing, cannot be reached, or is
    not a regular file. `what` names the expected file: a trace, a plan, …; `missing_step` is the
    next step if it is missing.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise TauError(f"{path}: no such file", missing_step) from None
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise TauError(f"{path}: {cause}", "check the path and its permissions") from error
    kind = stat.S_IFMT(mode)
    if kind != stat.S_IFREG:
        name, step = KINDS[kind]
        article = "an" if what[0] in "aeiou" else "a"
        raise TauError(f"{path} is a {name}, not {article} {what}", step, EXIT_USAGE)


def read(path: Path, what: str, bytes_max: int, missing_step: str = "check the path") -> bytes:
    """Read a whole file, or its first `bytes_max` + 1 bytes if it is larger.

    Raises TauError as `check` does, and if it cannot be read.
    """
    check(path, what, missing_step)
    try:
        with open(path, "rb") as file:
            return file.read(bytes_max + 1)
    except OSError as error:
        raise TauError(f"{path}: {error.strerror}", "check the path and its permissions") from error

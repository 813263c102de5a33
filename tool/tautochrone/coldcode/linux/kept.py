"""Folders that are made once and kept, each under a hash of all that it depends on.

folder = kept.folder(parent, "source", hash_of(...), make)

A folder counts as made if its last file says so. One that a killed process left half-done is
removed and made again. Two processes that want the same folder make it once.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tautochrone.errors import TauError

COMPLETE = ".tau-complete"
HASH_CHARACTERS = 16


def cache_folder() -> Path:
    """The folder of Linux kernels in the user's cache (XDG_CACHE_HOME)."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tautochrone" / "linux"


def hash_of(parts: Iterable[bytes | str]) -> str:
    """A hash over all parts, in this order."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:HASH_CHARACTERS]


def file_hash(path: Path) -> str:
    """The hash of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_made(folder: Path) -> bool:
    """Whether the folder is there, and whole."""
    return (folder / COMPLETE).exists()


def folder(parent: Path, name: str, mark: str, make: Callable[[Path], None]) -> Path:
    """The folder NAME-MARK in PARENT. If it is not there, MAKE is called with an empty folder."""
    wanted = parent / f"{name}-{mark}"
    if is_made(wanted):
        return wanted
    try:
        with locked(parent / f"{name}-{mark}.lock"):
            if not is_made(wanted):
                if wanted.exists():
                    shutil.rmtree(wanted)
                wanted.mkdir()
                make(wanted)
                (wanted / COMPLETE).touch()
    except OSError as error:
        cause = f"cannot build in {parent}: {error.strerror or error}"
        raise TauError(cause, "name another folder with XDG_CACHE_HOME") from error
    return wanted


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that no other process holds. It ends with this process, whatever happens."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

"""Files in the user's cache, each with its own checksum file.

A file that a full disk or a crash has damaged is built again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


def is_whole(path: Path) -> bool:
    """Tell whether a kept file exists and has its checksum. O(its bytes)."""
    try:
        return _seal_of(path).read_text("ascii") == _digest_of(path)
    except (OSError, UnicodeDecodeError):
        return False


def keep(made: Path, path: Path) -> None:
    """Move the finished file `made`, on the same disk, to `path` and seal it."""
    digest = _digest_of(made)
    made.replace(path)
    seal = made.with_name(made.name + ".sha256")
    seal.write_text(digest, "ascii")
    seal.replace(_seal_of(path))


def _seal_of(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _digest_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""Bounds of images, kept next to the image in the cache: they take most of a small plan's time."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tautochrone.targets import kept_files
from tautochrone.targets.build import cache_folder


def kept_bound(elf: Path, question: str, find: Callable[[], int | None]) -> int | None:
    """The answer of `find` to a question about `elf`: the kept one, else `find` is called.

    Nothing is kept for an ELF outside the cache, whose name says nothing about its bytes. Answers
    of an analysis with other code do not count.
    """
    if elf.parent != cache_folder():
        return find()
    path = elf.with_suffix(".bounds")
    known = _known(path)
    if question not in known:
        known[question] = find()
        # A full or read-only disk costs time, not the answer.
        with contextlib.suppress(OSError), tempfile.TemporaryDirectory(dir=elf.parent) as scratch:
            made = Path(scratch) / path.name
            made.write_text(json.dumps({"analysis": _analysis(), "bounds": known}), "ascii")
            kept_files.keep(made, path)
    return known[question]


def _known(path: Path) -> dict[str, Any]:
    if not kept_files.is_whole(path):
        return {}
    stored = json.loads(path.read_text("ascii"))
    return stored["bounds"] if stored["analysis"] == _analysis() else {}


@functools.cache
def _analysis() -> str:
    import capstone

    code = (Path(__file__).parent / "longest_path.py").read_bytes()
    return hashlib.sha256(code + capstone.__version__.encode()).hexdigest()

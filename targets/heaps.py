"""The heaps on pages that are replayed, as heaps/<heap>.toml describes them.

    heaps()["page_heap"].tile               # {"rtmmu": "rtmmu", "rtmmu-tlb": "rtmmu-tlb"}
    heaps()["page_heap"].call("malloc")     # "tau_page_heap_malloc"

A new one needs its description, its code and two headers that start it and lead to its
calls: programs/paged/heap_<heap>.h in emulated code, programs/replay/system_<heap>.h on the tile.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "heaps"


class HeapError(Exception):
    """A heap's description is wrong; the message names it."""


@dataclass(frozen=True)
class Heap:
    """A heap on pages.

    - `about`: its policy, in one line.
    - `files`: its source files, in the order in which they are linked.
    - `space`: the tables that it maps pages in. `tau_<space>_unmap_region` releases their regions.
    - `calls`: the functions that are not called `tau_<heap>_<call>`; `fault` maps a page.
    - `emulated`: the systems that run it in emulated code, and the definitions of each.
    - `tile`: the systems that run it on the tile, and the unit of each.
    - `differs`: how one of these systems differs from the others.
    """

    name: str
    about: str
    files: tuple[str, ...]
    space: str
    calls: Mapping[str, str]
    emulated: Mapping[str, Sequence[str]]
    tile: Mapping[str, str]
    differs: Mapping[str, str]

    def about_of(self, system: str) -> str:
        """What a system with this heap does, in one line."""
        return "; ".join((self.about, *filter(None, [self.differs.get(system)])))

    def call(self, kind: str) -> str:
        """The function of a call: malloc, aligned_alloc, resize, free or fault."""
        return self.calls.get(kind, f"tau_{self.name}_{kind}")

    @property
    def is_conventional(self) -> bool:
        """Whether ours is measured against it."""
        return any(name.startswith("peers/") for name in self.files)


@functools.cache
def heaps(folder: Path = FOLDER) -> dict[str, Heap]:
    """Every heap by its name, ours first. Raises HeapError."""
    found: list[Heap] = []
    for path in sorted(folder.glob("*.toml")):
        heap = _described(path)
        for other in found:
            for kind in ("emulated", "tile"):
                for name in getattr(heap, kind).keys() & getattr(other, kind).keys():
                    message = f"[{kind}] names {name}, as {other.name}.toml does"
                    raise HeapError(f"{path}: {message}")
        found.append(heap)
    found.sort(key=lambda heap: heap.is_conventional)
    return {heap.name: heap for heap in found}


def _described(path: Path) -> Heap:
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise HeapError(f"{path}: {error}") from error
    known = {each.name for each in fields(Heap)} - {"name"}
    for key in sorted(known ^ table.keys()):
        raise HeapError(f"{path}: `{key}` is " + ("missing" if key in known else "unknown"))
    return Heap(name=path.stem, **{**table, "files": tuple(table["files"])})

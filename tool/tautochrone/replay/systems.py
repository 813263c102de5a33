"""The allocators that replay can drive, by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tautochrone.errors import EXIT_USAGE, TauError


@dataclass(frozen=True)
class System:
    """An allocator that replay can drive.

    `kind`: "core" lives in `library` (`{bits}` stands for 32 or 64) with functions `prefix`_init …;
    "budget" is the same with a plan; "own" is built in; "process" runs in a process of its own with
    `library` loaded first; "pages" is a heap over pages, run in the emulator (paging.py);
    "tile" is one on the simulated tile, counted in cycles (tile.py).
    `grows`: takes memory as it needs it, so one run tells the footprint and nothing is searched.
    `package`: the Debian package, for a message.
    """

    name: str
    kind: str
    library: str = ""
    prefix: str = ""
    grows: bool = False
    package: str = ""

    @property
    def needs_plan(self) -> bool:
        """Whether the system cannot be made without a plan."""
        return self.kind == "budget"

    @property
    def is_on_pages(self) -> bool:
        """Whether the system maps pages, and is replayed by paging.py."""
        return self.kind == "pages"

    @property
    def is_on_tile(self) -> bool:
        """Whether the system runs on the simulated tile, and is replayed by tile.py."""
        return self.kind == "tile"


SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        System("tlsf", "core", "libtau_core{bits}.so", "tau_tlsf"),
        System("budget", "budget", "libtau_core{bits}.so", "tau_budget"),
        System("kingsley", "own", grows=True),
        System("static", "own", grows=True),
        System("glibc", "process", grows=True, package="libc6"),
        System("mimalloc", "process", "mimalloc", grows=True, package="libmimalloc2.0"),
        System("jemalloc", "process", "jemalloc", grows=True, package="libjemalloc2"),
        System("rtvm", "pages", grows=True),
        System("conventional", "pages", grows=True),
        System("conventional-mapped", "pages", grows=True),
        System("tile:rtmmu", "tile", grows=True),
        System("tile:rtmmu-tlb", "tile", grows=True),
        System("tile:pagetable", "tile", grows=True),
    )
}

# What may follow a tile's name: configurations of its processor (hw/build.py), and whether its
# tables are as slow as the page table.
TILE_CONFIGS = ("small", "small-b", "fast", "fast-b")
TILE_PIPELINED = "pipelined"


def library_system(name: str, library: str | Path, prefix: str, grows: bool = False) -> System:
    """A system from a shared library with PREFIX_init, _malloc, _calloc, _aligned_alloc, … _free.

    Their prototypes are those of core/tlsf.h (free returns 0 for success). A library that also has
    `size_t PREFIX_footprint(void *heap)` says itself how much of the arena it took; with `grows` no
    search is made.
    """
    return System(name, "core", str(library), prefix, grows)


def system_named(name: str) -> System:
    """The system of this name. Raises TauError (usage) if there is none."""
    tile, unit, *chosen = name.split(":") if name.startswith("tile:") else (name, "")
    plain = f"{tile}:{unit}"
    if plain in SYSTEMS and all(word in (*TILE_CONFIGS, TILE_PIPELINED) for word in chosen):
        return replace(SYSTEMS[plain], name=name)
    if plain in SYSTEMS and tile:
        raise TauError(
            f"{plain} knows no configuration {':'.join(chosen)!r}",
            f"put one of {', '.join(TILE_CONFIGS)} behind it, or {TILE_PIPELINED}, or both",
            EXIT_USAGE,
        )
    if name not in SYSTEMS:
        raise TauError(
            f"no system is called {name!r}", f"use some of {', '.join(SYSTEMS)}", EXIT_USAGE
        )
    return SYSTEMS[name]

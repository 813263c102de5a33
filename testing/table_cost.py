"""Exact cost of the operations on tables, by running them on an emulated RV32 processor.

    with Tables("hierarchical", "rv32", 20) as tables:
        tables.map_region(start, pages)          # each returns a Call: instructions, accesses
        tables.map_page(page)
        tables.unmap(start, pages)

Backends: "direct" (vspace.c), "hierarchical" (hierarchy.c), "conventional" and
"conventional-mapped" (pagetable.c, the two walks).
"""

import functools
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import numpy as np

from tautochrone.machine.longest_path import NEVER, bound_accesses, bound_instructions
from tautochrone.machine.calls import Call, Machine
from tautochrone.machine.images import Image, build_image
from tautochrone.targets.sources import CORE_FILES

CORE = Path(__file__).resolve().parents[1] / "core"
OK = 0
READ, RIGHTS = 1 << 27, 7 << 27
STRUCTURE_BYTES = 128  # more than any of the structures
FREE_COUNT_BYTES = 16  # where struct tau_hierarchy_tables has free.ready.count
OVERCOMMIT = 0

SOURCES = {
    "direct": CORE_FILES["vspace"],
    "hierarchical": CORE_FILES["hierarchy"],
    "conventional": CORE_FILES["pagetable"],
    "conventional-mapped": CORE_FILES["pagetable"],
}
PREFIX = {
    "direct": "tau_vspace",
    "hierarchical": "tau_hierarchy",
    "conventional": "tau_pagetable",
    "conventional-mapped": "tau_pagetable",
}
BACKENDS = tuple(SOURCES)
OURS = ("direct", "hierarchical")
VERBS = {
    "direct": ("map_region", "map_page", "unmap_region", "translate"),
    "hierarchical": ("map_region", "map_page", "unmap_region", "translate"),
    "conventional": ("map_page", "unmap", "translate"),
    "conventional-mapped": ("map_page", "unmap", "translate"),
}


@functools.lru_cache(maxsize=16)
def image_of(backend: str, isa: str) -> Image:
    """The backend's code for a target, -O2."""
    prefix = PREFIX[backend]
    keep = [f"{prefix}_{verb}" for verb in (*VERBS[backend], "init", "size_bytes")]
    keep += ["tau_frames_init", "tau_frames_add", "tau_frames_clean_one"]
    if backend == "hierarchical":
        keep += ["tau_hierarchy_tables_init", "tau_hierarchy_tables_size_bytes"]
    return build_image(
        backend,
        isa,
        SOURCES[backend],
        [f"-I{CORE.parent}"],
        prefix="tau_none",
        keep=keep,
    )


def bounds_of(backend: str, verb: str, isa: str) -> tuple[int, int]:
    """The most instructions and memory accesses of a call, over all paths of the code.

    Paths on which a frame is zeroed are left out: their cost is a page's, and no table's.
    """
    image = image_of(backend, isa)
    name = f"{PREFIX[backend]}_{verb}"
    charges = {"tau_frames_clean_one": NEVER}
    return (
        bound_instructions(image.elf, name, charges),
        bound_accesses(image.elf, name, charges),
    )


class Tables:
    """A space of 2^pages_log2 pages with `frames_count` clean frames, on the emulated processor.

    `records_count` is for hierarchical tables alone. A context manager.
    """

    def __init__(
        self,
        backend: str,
        isa: str,
        pages_log2: int,
        frames_count: int = 1 << 17,
        records_count: int = 1 << 13,
    ) -> None:
        self.backend = backend
        self.prefix = PREFIX[backend]
        self.machine = Machine(image_of(backend, isa))
        machine = self.machine
        self.space = machine.reserve(STRUCTURE_BYTES)
        self.answer = machine.reserve(4)
        frames = machine.reserve(STRUCTURE_BYTES)
        links = machine.reserve(4 * frames_count)
        self._ask("tau_frames_init", frames, links, frames_count, 0)
        self._ask("tau_frames_add", frames, 0, frames_count)
        for _ in range(64):  # more ready frames than one placement takes
            machine.call("tau_frames_clean_one", frames)
        self.frames = frames
        walk = [int(backend == "conventional-mapped")] if self.prefix == "tau_pagetable" else []
        self.bytes = machine.call(f"{self.prefix}_size_bytes", pages_log2, *walk).result
        memory = machine.reserve(self.bytes)
        if backend == "hierarchical":
            tables = machine.reserve(STRUCTURE_BYTES)
            self._free_count = machine.words(tables + FREE_COUNT_BYTES, 1)
            self._records_count = records_count
            size = machine.call("tau_hierarchy_tables_size_bytes", records_count).result
            self._ask("tau_hierarchy_tables_init", tables, machine.reserve(size), size)
            last = [tables, frames, OVERCOMMIT]
        else:
            last = [frames, *(walk or [OVERCOMMIT])]
        self._ask(f"{self.prefix}_init", self.space, memory, self.bytes, pages_log2, *last)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.machine.close()

    def _ask(self, function: str, *arguments: int) -> Call:
        done = self.machine.call(function, *arguments)
        if done.result != OK:
            raise AssertionError(f"{function}{arguments} answered {done.result}")
        return done

    def map_region(self, start: int, pages: int) -> Call | None:
        """Makes a region; None where there are none."""
        if self.backend not in OURS:
            return None
        return self._ask(f"{self.prefix}_map_region", self.space, start, pages, RIGHTS)

    def map_page(self, page: int) -> Call:
        """A fault, with a clean frame at hand."""
        access = READ if self.backend in OURS else RIGHTS
        done = self._ask(f"{self.prefix}_map_page", self.space, page, access)
        self.machine.call("tau_frames_clean_one", self.frames)
        return done

    def map_pages(self, start: int, pages: int) -> None:
        """Maps a whole range."""
        arguments = np.zeros((pages, 3), dtype=np.int64)
        arguments[:, 0] = self.space
        arguments[:, 1] = np.arange(start, start + pages)
        arguments[:, 2] = RIGHTS
        done = self.machine.call_many(f"{self.prefix}_map_page", arguments)
        assert not done.result.any()

    def unmap(self, start: int, pages: int) -> Call:
        """Gives a region, or a range of the conventional table, back."""
        if self.backend in OURS:
            return self._ask(f"{self.prefix}_unmap_region", self.space, start)
        return self._ask(f"{self.prefix}_unmap", self.space, start, pages)

    def records_used(self) -> int:
        """Records that chunks have; hierarchical tables only."""
        return self._records_count - int(self._free_count[0])

    def translate(self, page: int) -> Call:
        """What the MMU does, for a page that is mapped."""
        return self._ask(f"{self.prefix}_translate", self.space, page, READ, self.answer)


def placements(pages: int, pages_log2: int, count: int, seed: int) -> list[tuple[int, bool, bool]]:
    """Where regions of `pages` pages are put: start, and whether a region lies before and after.

    Those that cost most come first: a region that starts on the last page of a word of the region
    tree at every level, so that both its ends are alone in all their words. The rest is random,
    half of it at borders of words.
    """
    source = random.Random(seed)
    limit = (1 << pages_log2) - pages - 1
    deepest = (pages_log2 - 1) // 5 * 5
    result = []
    for level in range(deepest, 4, -5):
        result += [
            (start, False, False)
            for start in range((1 << level) - 1, limit, 1 << level)
            if 1 < start
        ][:32]
    while len(result) < count:
        start = source.randrange(2, limit)
        if source.random() < 0.5:
            start = max(31, start // 32 * 32 + source.choice((-1, 0, 1)))
        result.append((min(start, limit - 1), source.random() < 0.3, source.random() < 0.3))
    return result


def unmap_costs(
    tables: Tables, pages: int, places: Iterable[tuple[int, bool, bool]], mapped_max: int = 0
) -> tuple[int, int]:
    """The most instructions and accesses of unmapping a region of `pages` pages at any of PLACES.

    All pages are mapped, or with MAPPED_MAX one to so many: what ours cost does not depend on it.
    """
    worst = (0, 0)
    for number, (start, before, behind) in enumerate(places):
        others = [start - 1] * before + [start + pages] * behind
        for other in others:
            tables.map_region(other, 1)
        tables.map_region(start, pages)
        if mapped_max:
            touched = {start, start + (pages - 1) // 2, start + pages - 1}
            for page in sorted(touched)[: number % mapped_max + 1]:
                tables.map_page(page)
        else:
            tables.map_pages(start, pages)
        done = tables.unmap(start, pages)
        worst = (max(worst[0], done.instructions), max(worst[1], done.accesses))
        if tables.backend in OURS:
            for other in others:
                tables.unmap(other, 1)
    return worst

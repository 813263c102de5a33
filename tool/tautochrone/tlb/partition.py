"""A partition: who owns which TLB sets, and where each principal's pages are.

It is what the planner finds and what the section [tlb] of a plan holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tautochrone.tlb import geometry as geometries
from tautochrone.tlb.geometry import Geometry

STACK, GLOBALS, CODE, HEAP = PARTS = ("stack", "globals", "code", "heap")
ISOLATED, NO_MISS = "isolated", "no-miss"
UNCOLORED = "uncolored"  # a principal without sets
PAGES_MAX = 1 << 20  # in the address range, and so in any window


def roles_of(part: str, is_read: bool = False) -> tuple[str, ...]:
    """How the pages of a part are accessed; `is_read`: code that is also read as data."""
    if part != CODE:
        return (geometries.DATA,)
    return (geometries.CODE, geometries.DATA) if is_read else (geometries.CODE,)


@dataclass(frozen=True)
class Run:
    """Adjacent pages of one part. Those of code are fetched, and read as data if `is_read`."""

    part: str
    start: int
    size_bytes: int
    is_read: bool = False

    @property
    def roles(self) -> tuple[str, ...]:
        """How its pages are accessed."""
        return roles_of(self.part, self.is_read)

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.start + self.size_bytes


@dataclass(frozen=True)
class Principal:
    """A task or the kernel. `sets` and `taken` have an entry per array of the geometry.

    It may use the sets of another one, which `shares_sets_with` names, in turn with it. Data that
    tasks share is a principal that is `used_by` these.
    `taken` is how many entries the pages outside the heap have in one set at most. The heap's
    window is the lowest part of the window, `heap_window_bytes` long (0: no heap).
    """

    name: str
    mode: str
    sets: tuple[tuple[int, ...], ...]
    taken: tuple[int, ...]
    window_start: int
    window_bytes: int
    heap_window_bytes: int
    runs: tuple[Run, ...]
    largest_object_bytes: int
    shares_sets_with: str | None = None
    used_by: tuple[str, ...] = ()

    @property
    def leader(self) -> str:
        """The first of those who use its sets in turn: another one, or itself."""
        return self.shares_sets_with or self.name

    def runs_of(self, part: str) -> list[Run]:
        """The runs of one part, as they are listed."""
        return [run for run in self.runs if run.part == part]

    def bytes_of(self, part: str) -> int:
        """The bytes of a part's pages."""
        return sum(run.size_bytes for run in self.runs_of(part))


def shared_symbols(principals: Iterable[Principal], name: str) -> dict[str, int]:
    """The addresses of shared data that a task uses, by the names that its program has for them."""
    return {
        f"tau_shared_{each.name.replace('-', '_')}": each.runs[0].start
        for each in principals
        if name in each.used_by
    }


@dataclass(frozen=True)
class Partition:
    """The principals of a geometry, on a processor with words of `word_bytes`."""

    geometry: Geometry
    word_bytes: int
    principals: tuple[Principal, ...]

    def entries(self, runs: Iterable[Run]) -> Counter[tuple[int, int]]:
        """How many entries the pages of runs have in each set, (array, index).

        In an array, data and code of one page have one entry [CLR-14].
        """
        pages = self.geometry.page_bytes
        found = {
            (structure.array, structure.index(address // pages), structure.page_bytes, number)
            for run in runs
            for role in run.roles
            for structure in self.geometry.translating(pages, role)
            if self.geometry.arrays[structure.array].is_colorable
            for address in self.addresses(run)
            for number in [address // structure.page_bytes]
        }
        return Counter((array, index) for array, index, _, _ in found)

    def addresses(self, run: Run) -> Iterator[int]:
        """The addresses of a run's pages."""
        return iter(range(run.start, run.start + run.size_bytes, self.geometry.page_bytes))

    def entries_of(self, name: str) -> Counter[tuple[int, int]]:
        """The entries of a principal's pages, and of shared data that it uses, in each set."""
        return self.entries(
            run
            for each in self.principals
            if each.name == name or name in each.used_by
            for run in each.runs
        )

    def entries_of_all(self) -> Counter[tuple[int, int]]:
        """The entries of all principals in each set."""
        return sum((self.entries(each.runs) for each in self.principals), Counter())

    def entries_used(self, principal: Principal) -> int:
        """The entries of all pages of a principal."""
        return self.entries(principal.runs).total()

    def entries_safe(self, principal: Principal) -> int:
        """How many live entries its sets hold safely, in all arrays."""
        pairs = zip(self.geometry.arrays, principal.sets, strict=True)
        return sum(array.safe_ways * len(sets) for array, sets in pairs)

    @property
    def mapped_bytes(self) -> int:
        """Bytes of all pages."""
        return sum(run.size_bytes for each in self.principals for run in each.runs)

    @property
    def address_space_bytes(self) -> int:
        """Bytes of all windows."""
        return sum(each.window_bytes for each in self.principals)

    @property
    def page_table_bytes(self) -> int:
        """Bytes of those base pages of a page table that have the entry of a mapped page."""
        page_bytes = self.geometry.page_bytes
        covered = page_bytes // self.word_bytes * page_bytes
        tables = {
            address // covered
            for each in self.principals
            for run in each.runs
            for address in self.addresses(run)
        }
        return len(tables) * page_bytes

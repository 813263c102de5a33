"""Golden model of TLB coloring: who owns which sets, and the pages of a heap [P4-2].

Written from docs/spec/tlb_color.md. Sets are sets, pages are addresses in a list, and every
question is answered by looking at all of them. Cost: proportional to the pages of a window.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

DATA, DIRECTORY, CODE = "data", "directory", "code"
ISOLATED, NO_MISS = "isolated", "no-miss"
SETS_MAX = 1 << 16


@dataclass(frozen=True)
class Array:
    """Sets of ways, of which `safe_ways` may be live."""

    sets: int
    ways: int
    safe_ways: int


@dataclass(frozen=True)
class Structure:
    """Entries of `page_bytes` each, which go into array number `array`."""

    role: str
    page_bytes: int
    array: int
    rows: tuple[int, ...]
    constant: int = 0

    def index(self, page: int) -> int:
        """The set of base page number `page`."""
        result = self.constant
        for bit, row in enumerate(self.rows):
            if bin(page & row).count("1") % 2 == 1:
                result ^= 1 << bit
        return result


@dataclass(frozen=True)
class Geometry:
    """The TLBs of a processor."""

    page_bytes: int
    arrays: tuple[Array, ...]
    structures: tuple[Structure, ...]

    def translating(self, page_bytes: int, role: str = DATA) -> list[Structure]:
        """The structures that translate a page of this size."""
        return [
            structure
            for structure in self.structures
            if (structure.role, structure.page_bytes) == (role, page_bytes)
            or (structure.role == DIRECTORY and structure.page_bytes > page_bytes)
        ]

    def is_right(self) -> bool:
        """[CLR-1] ... [CLR-4]."""
        powers = [self.page_bytes, *(array.sets for array in self.arrays)]
        powers += [structure.page_bytes for structure in self.structures]
        kinds = {(each.array, each.role, each.page_bytes) for each in self.structures}
        return (
            all(value > 0 and bin(value).count("1") == 1 for value in powers)
            and all(1 <= array.safe_ways <= array.ways for array in self.arrays)
            and all(array.sets <= SETS_MAX for array in self.arrays)
            and all(self._is_right(structure) for structure in self.structures)
            and len(kinds) == len(self.structures)
            and bool(self.arrays and self.structures)
        )

    def _is_right(self, structure: Structure) -> bool:
        if structure.array >= len(self.arrays) or structure.page_bytes < self.page_bytes:
            return False
        sums = {0}
        for row in structure.rows:
            sums |= {row ^ other for other in sums}
        sets = self.arrays[structure.array].sets
        return (
            len(sums) == 1 << len(structure.rows) == sets
            and structure.constant < sets
            and not any(
                row % (structure.page_bytes // self.page_bytes) for row in structure.rows
            )
        )


@dataclass(frozen=True)
class Window:
    """Addresses of one heap, cut into pages of one size."""

    start: int
    size_bytes: int
    page_bytes: int

    @property
    def addresses(self) -> range:
        """All of them."""
        return range(self.start, self.start + self.size_bytes)


@dataclass(frozen=True)
class Principal:
    """Who owns sets: per array which, and how many entries of a set its other pages take.

    Those of one group, which is not 0, may own the same sets.
    """

    sets: Sequence[Collection[int]]
    windows: Sequence[Window]
    taken: Sequence[int] = ()
    group: int = 0


@dataclass
class Partition:
    """A geometry and its principals."""

    geometry: Geometry
    principals: list[Principal] = field(default_factory=list)

    def check(self) -> str:
        """As tau_tlb_color_check."""
        geometry = self.geometry
        windows = [window for each in self.principals for window in each.windows]
        if not geometry.is_right():
            return "BAD_ARGUMENT"
        if any(
            bin(window.size_bytes).count("1") != 1
            or window.start % window.size_bytes
            or window.size_bytes < 2 * window.page_bytes
            or not any(each.role == DATA for each in geometry.translating(window.page_bytes))
            for window in windows
        ):
            return "BAD_ARGUMENT"
        colorable = [number for number, array in enumerate(geometry.arrays) if array.sets > 1]
        owned = [(number, each.sets[number]) for each in self.principals for number in colorable]
        if any(sets and max(sets) >= geometry.arrays[number].sets for number, sets in owned):
            return "SETS_OUTSIDE"
        owners: dict[tuple[int, int], list[int]] = {}
        for each in self.principals:
            for number in colorable:
                for index in each.sets[number]:
                    owners.setdefault((number, index), []).append(each.group)
        starts = sorted((window.start, window.size_bytes) for window in windows)
        meet = any(a + size > b for (a, size), (b, _) in zip(starts, starts[1:], strict=False))
        apart = all(
            len(groups) == 1 or (0 not in groups and len({*groups}) == 1)
            for groups in owners.values()
        )
        return "OK" if apart and not meet else "SETS_OWNED"

    def entries(self, page_bytes: int, addresses: Sequence[int]) -> Counter[tuple[int, int]]:
        """How many entries data pages at these addresses have in each set (array, index)."""
        counts: Counter[tuple[int, int]] = Counter()
        for structure in self.geometry.translating(page_bytes):
            entries = {address // structure.page_bytes for address in addresses}
            for number in entries:
                page = number * structure.page_bytes // self.geometry.page_bytes
                counts[structure.array, structure.index(page)] += 1
        return counts

    def admissible(self, principal: Principal, window: Window) -> list[int]:
        """The addresses of the window's admissible pages."""
        found = []
        last = window.start + window.size_bytes - window.page_bytes
        for address in range(window.start, last, window.page_bytes):
            sets = [
                (structure.array, structure.index(address // self.geometry.page_bytes))
                for structure in self.geometry.translating(window.page_bytes)
                if self.geometry.arrays[structure.array].sets > 1
            ]
            if all(index in principal.sets[array] for array, index in sets):
                found.append(address)
        return found

    def heap(self, number: int, window: int, pages: int, mode: str) -> tuple[str, list[int]]:
        """As tau_tlb_color_init: the status, and the addresses of the heap's pages."""
        status = "BAD_ARGUMENT" if self.check() == "OK" and pages == 0 else self.check()
        if status != "OK":
            return status, []
        principal = self.principals[number]
        chosen = self.admissible(principal, principal.windows[window])[:pages]
        if len(chosen) < pages:
            return "WINDOW_FULL", []
        counts = self.entries(principal.windows[window].page_bytes, chosen)
        for array, facts in enumerate(self.geometry.arrays):
            if facts.sets == 1 or mode == ISOLATED:
                continue
            for index in principal.sets[array]:
                if counts[array, index] + principal.taken[array] > facts.safe_ways:
                    return "WAYS_EXCEEDED", []
        return "OK", chosen


def runs_of(addresses: Sequence[int], page_bytes: int) -> list[tuple[int, int]]:
    """The start and size of each run of pages, ascending."""
    runs: list[tuple[int, int]] = []
    for address in addresses:
        if runs and sum(runs[-1]) == address:
            start, size = runs.pop()
            runs.append((start, size + page_bytes))
        else:
            runs.append((address, page_bytes))
    return runs

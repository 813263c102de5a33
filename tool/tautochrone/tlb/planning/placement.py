"""Places the pages of one principal: an aligned window, and in it runs for each part.

The lower half of a window is the heap's: its lowest admissible pages. Stack, globals and code are
in the upper half, each with unmapped pages around it, where the sets have the fewest entries. A
principal without a heap has its whole window for them. docs/spec/tlb_color.md has the rules.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tautochrone.console.output import count
from tautochrone.tlb.geometry import CODE, DATA
from tautochrone.tlb.partition import HEAP, NO_MISS, UNCOLORED, Principal, Run
from tautochrone.tlb.planning.demand import Demand, Part, RunHeap
from tautochrone.tlb.planning.shares import Bits, PageRange, Shares

POSITIONS_MAX = 4  # windows of one size that are tried
SIZES_MAX = 3  # sizes of windows that are tried after the first one with enough pages
SPOTS_MAX = 64  # places of a part that are compared
GROWTH = 16  # a heap that is too small for its recordings grows by this part of itself


@dataclass(frozen=True)
class Refusal:
    """Why a principal has no place with these sets, and what its user can do, if not the usual."""

    cause: str
    next_step: str = ""


@dataclass(frozen=True)
class Search:
    """The search: pages for a demand with `count` shares from `first` on.

    `used` says which pages lie in windows of others. A window has at most `pages_max` pages.
    """

    pages: PageRange
    shares: Shares
    first: int
    count: int
    demand: Demand
    used: Bits
    word_bytes: int
    pages_max: int

    def owned(self, array: int) -> list[int]:
        """The sets of an array."""
        return self.shares.sets(array, self.first, self.count)


@dataclass
class _Entries:
    """The entries of pages, each counted once, by array and set."""

    search: Search
    seen: set[tuple[int, int, int]] = field(default_factory=set)

    def of(self, roles: Sequence[str], places: Sequence[int]) -> set[tuple[int, int, int]]:
        """Array, set and number of each entry that pages have.

        In an array, data and code of one page have one entry.
        """
        pages, where = self.search.pages, np.asarray(places)
        found: set[tuple[int, int, int]] = set()
        for structure in {each for role in roles for each in pages.structures(role)}:
            sets = pages.sets[structure][where].tolist()
            entries = pages.entry_numbers(structure, where).tolist()
            size = structure.page_bytes << 60  # entries of two sizes differ
            found |= {
                (structure.array, index, size | entry)
                for index, entry in zip(sets, entries, strict=True)
            }
        return found

    def loads(self) -> Counter[tuple[int, int]]:
        """How many entries each set has."""
        return Counter((array, index) for array, index, _ in self.seen)

    def by_array(self) -> list[np.ndarray]:
        """How many entries each set of each array has."""
        found = [np.zeros(each.sets, np.int64) for each in self.search.pages.geometry.arrays]
        for (array, index), number in self.loads().items():
            found[array][index] = number
        return found


def place(search: Search) -> Principal | Refusal:
    """The lowest of the smallest windows in which the demand has a place."""
    demand, pages = search.demand, search.pages
    heap_ok = search.shares.admissible(pages, search.first, search.count, [DATA])
    both_ok = search.shares.admissible(pages, search.first, search.count, [DATA, CODE])
    has_heap, needed = demand.heap_pages > 0, sum(part.pages for part in demand.parts)
    refusal, sizes_tried = None, 0
    size = 4 if has_heap else 2
    is_there_room = False
    while size <= search.pages_max and sizes_tried < SIZES_MAX:
        half = size // 2 if has_heap else 0
        enough = both_ok.reshape(-1, size)[:, half : size - 1].sum(axis=1) >= needed
        if has_heap:
            heap_counts = heap_ok.reshape(-1, size)[:, : half - 1].sum(axis=1)
            enough &= heap_counts >= demand.heap_pages
        is_there_room |= bool(enough.any())
        free = np.flatnonzero(enough & ~search.used.reshape(-1, size).any(axis=1))
        for at in free[:POSITIONS_MAX].tolist():
            found = _lay_out(search, at * size, size, half, heap_ok, both_ok)
            if isinstance(found, Principal):
                return found
            refusal = found
        sizes_tried += len(free) > 0
        size *= 2
    if refusal is not None:
        return refusal
    if is_there_room:
        return Refusal("no window of the size that it needs is free")
    owned = count(demand.pages, "page")
    return Refusal(f"the window has too few pages for it, which needs {owned}")


def _lay_out(
    search: Search, start: int, size: int, half: int, heap_ok: Bits, both_ok: Bits
) -> Principal | Refusal:
    """The parts and the heap in one window, which starts at place `start`."""
    entries = _Entries(search)
    mapped = np.zeros(size, dtype=bool)
    usable = both_ok[start : start + size].copy()
    usable[:half], usable[-1] = False, False
    runs: list[tuple[str, int, int, bool]] = []
    for part in search.demand.parts:
        found = _runs_of_part(part, start, usable, mapped, entries)
        if isinstance(found, Refusal):
            return found
        runs += [(part.name, start + spot, length, part.is_read) for spot, length in found]
    arrays = search.pages.geometry.arrays
    if refused := _over_safe_ways(search, entries.by_array(), [0] * len(arrays)):
        return refused
    taken = [int(loads.max()) for loads in entries.by_array()]
    largest = 0
    if search.demand.heap_pages:
        free = start + np.flatnonzero(heap_ok[start : start + half - 1])
        heap = _heap(search, free, taken)
        if isinstance(heap, Refusal):
            return heap
        places, largest = heap
        runs += [(HEAP, first, length, False) for first, length in runs_in(places)]
    page_bytes, address = search.pages.geometry.page_bytes, search.pages.address
    return Principal(
        name=search.demand.name,
        mode=search.demand.mode,
        sets=tuple(tuple(search.owned(array)) for array in range(len(taken))),
        taken=tuple(taken),
        window_start=address(start),
        window_bytes=size * page_bytes,
        heap_window_bytes=half * page_bytes,
        runs=tuple(
            Run(part, address(at), length * page_bytes, is_read)
            for part, at, length, is_read in runs
        ),
        largest_object_bytes=largest,
        shares_sets_with=search.demand.shares_sets_with,
        used_by=search.demand.used_by,
    )


def _runs_of_part(
    part: Part, start: int, usable: Bits, mapped: Bits, entries: _Entries
) -> list[tuple[int, int]] | Refusal:
    """Place and length of each run of a part, which become mapped: as few as there can be."""
    found: list[tuple[int, int]] = []
    longest = length = max((length for _, length in runs_in(np.flatnonzero(usable))), default=0)
    rest = part.pages
    while rest and length >= min(part.run_pages, rest):
        spot = _best_spot(part, min(length, rest), start, usable, mapped, entries)
        if spot is None:
            length = min(length, rest) - 1
            continue
        found.append((spot, min(length, rest)))
        mapped[spot : spot + min(length, rest)] = True
        places = range(start + spot, start + spot + min(length, rest))
        entries.seen |= entries.of(part.roles, places)
        rest -= len(places)
    if not rest:
        return found
    if longest < part.run_pages:
        return Refusal(
            f"{part.run_pages} adjacent pages of its {part.name} are needed, but the longest run of"
            f" its sets has {longest}"
        )
    return Refusal(f"{rest} of {part.pages} pages of its {part.name} do not fit its window")


def _best_spot(
    part: Part, length: int, start: int, usable: Bits, mapped: Bits, entries: _Entries
) -> int | None:
    """The place in the window of a run's first page: where the fullest set is least full.

    The pages on both sides stay unmapped.
    """
    best: tuple[int, int] | None = None
    before = entries.loads()
    for spot in _spots(length, usable, mapped):
        places = range(start + spot, start + spot + length)
        new = entries.of(part.roles, places) - entries.seen
        loads = before + Counter((array, index) for array, index, _ in new)
        fullest = max((loads[array, index] for array, index, _ in new), default=0)
        if best is None or fullest < best[0]:
            best = fullest, spot
    return best and best[1]


def _spots(length: int, usable: Bits, mapped: Bits) -> Iterator[int]:
    """Up to SPOTS_MAX places with `length` usable pages, and no mapped page on either side."""
    found = 0
    for first, run in runs_in(np.flatnonzero(usable)):
        for spot in range(first, first + run - length + 1):
            if found < SPOTS_MAX and not mapped[max(spot - 1, 0) : spot + length + 1].any():
                found += 1
                yield spot


def _heap(
    search: Search, free: np.ndarray, taken: Sequence[int]
) -> tuple[list[int], int] | Refusal:
    """The pages of the heap, which are the lowest of `free`, and its largest object."""
    demand, page_bytes = search.demand, search.pages.geometry.page_bytes
    pages, largest = demand.heap_pages, 0
    while True:  # bound: the pages that are free
        places = free[:pages]
        if refused := _over_safe_ways(search, _heap_entries(search, places), taken):
            return refused
        runs = [
            (search.pages.address(first), length * page_bytes) for first, length in runs_in(places)
        ]
        heap = RunHeap(runs, search.word_bytes)
        if not heap.is_started:
            size = min(size for _, size in runs)
            return Refusal(f"a run of {size:,} bytes is too small for its heap's control block")
        largest = heap.largest_object_bytes()
        if demand.object_bytes > largest and not demand.calls:
            return Refusal(_too_large(demand.object_bytes, largest))
        if demand.object_bytes <= largest and all(
            RunHeap(runs, search.word_bytes).completes(calls) for calls in demand.calls
        ):
            return places.tolist(), largest
        if pages == len(free):
            break
        pages = min(pages + max(1, pages // GROWTH), len(free))
    if demand.object_bytes > largest:
        return Refusal(_too_large(demand.object_bytes, largest))
    return Refusal(f"its recordings do not complete in a heap of {len(free)} pages")


def _too_large(object_bytes: int, largest: int) -> str:
    return (
        f"an object of {object_bytes:,} bytes does not fit: the largest in a run of its sets has"
        f" {largest:,}"
    )


def _heap_entries(search: Search, places: np.ndarray) -> list[np.ndarray]:
    """For each array, how many entries pages of the heap have in each set."""
    pages = search.pages
    found = [np.zeros(array.sets, dtype=np.int64) for array in pages.geometry.arrays]
    for structure in pages.structures(DATA):
        _, first = np.unique(pages.entry_numbers(structure, places), return_index=True)
        sets = pages.sets[structure][places[first]]
        found[structure.array] += np.bincount(sets, minlength=len(found[structure.array]))
    return found


def _over_safe_ways(
    search: Search, entries: Sequence[np.ndarray], taken: Sequence[int]
) -> Refusal | None:
    """In mode no-miss: why a set has more entries than its safe ways, if one has.

    Others have `taken` entries in each set in which these have one.
    """
    if search.demand.mode != NO_MISS:
        return None
    for number, array in enumerate(search.pages.geometry.arrays):
        whole = entries[number] + taken[number] * (entries[number] > 0)
        crowded = np.flatnonzero(whole > array.safe_ways)
        if array.is_colorable and len(crowded):
            return Refusal(
                f"set {crowded[0]} of {array.name} would have {whole[crowded[0]]} live entries,"
                f" more than its {count(array.safe_ways, 'safe way')}"
            )
    return None


def runs_in(places: Sequence[int] | np.ndarray) -> list[tuple[int, int]]:
    """First place and length of each run of adjacent places, which ascend."""
    where = np.asarray(places)
    if not len(where):
        return []
    edges = np.flatnonzero(np.diff(where) != 1) + 1
    starts = np.concatenate(([0], edges))
    lengths = np.diff(np.concatenate((starts, [len(where)])))
    return list(zip(where[starts].tolist(), lengths.tolist(), strict=True))


def place_uncolored(search: Search) -> Principal | Refusal:
    """The lowest free window, heap first; one unmapped page is between two parts."""
    demand, page_bytes = search.demand, search.pages.geometry.page_bytes
    heap_pages, largest = _adjacent_heap(search)
    half = 1 << heap_pages.bit_length() if heap_pages else 0
    needed = half + sum(part.pages + 1 for part in demand.parts)
    size = max(1 << (needed - 1).bit_length(), 2)
    if demand.object_bytes > largest:
        return Refusal(f"an object of {demand.object_bytes:,} bytes does not fit its heap")
    free = (
        np.flatnonzero(~search.used.reshape(-1, size).any(axis=1)).tolist()
        if size <= search.pages_max
        else []
    )
    if not free:
        return Refusal("no window of the size that it needs is free")
    at = start = free[0] * size
    runs = []
    if heap_pages:
        runs.append(Run(HEAP, search.pages.address(at), heap_pages * page_bytes))
        at += half
    for part in demand.parts:
        size_bytes = part.pages * page_bytes
        runs.append(Run(part.name, search.pages.address(at), size_bytes, part.is_read))
        at += part.pages + 1
    arrays = search.pages.geometry.arrays
    return Principal(
        name=demand.name,
        mode=UNCOLORED,
        sets=((),) * len(arrays),
        taken=(0,) * len(arrays),
        window_start=search.pages.address(start),
        window_bytes=size * page_bytes,
        heap_window_bytes=half * page_bytes,
        runs=tuple(runs),
        largest_object_bytes=largest,
        used_by=demand.used_by,
    )


def _adjacent_heap(search: Search) -> tuple[int, int]:
    """The pages of the heap, which are adjacent, and its largest object."""
    demand, pages = search.demand, search.demand.heap_pages
    while pages:
        runs = [(0, pages * search.pages.geometry.page_bytes)]
        heap = RunHeap(runs, search.word_bytes)
        if not demand.calls or all(
            RunHeap(runs, search.word_bytes).completes(calls) for calls in demand.calls
        ):
            return pages, heap.largest_object_bytes()
        pages += max(1, pages // GROWTH)
    return 0, 0


def over_capacity(
    pages: PageRange, shares: Shares, demand: Demand, shares_count: int
) -> Refusal | None:
    """Why the demand cannot be without a miss in `shares_count` shares, if it cannot."""
    if demand.mode != NO_MISS:
        return None
    for number, array in enumerate(pages.geometry.arrays):
        if shares.share_of[number] is None:
            continue
        roles = {
            role
            for role in (DATA, CODE)
            for each in pages.structures(role)
            if each.role == role and each.array == number
        }
        entries = demand.heap_pages * (DATA in roles)
        entries += sum(part.pages for part in demand.parts if roles & {*part.roles})
        sets = array.sets // shares.count * shares_count
        if entries > sets * array.safe_ways:
            which = "all" if shares_count == shares.count else "its"
            return Refusal(
                f"its pages take {entries:,} entries of {array.name}, but {which} {sets} sets with"
                f" {array.safe_ways} safe ways hold {sets * array.safe_ways:,}",
                'give it less memory, or mode = "isolated" if it may miss',
            )
    return None

"""Places cold pieces on pages so that the recording loads the fewest pages.

1. Pieces that were touched shortly after each other are *affine*: both among the last six that were
   touched. The most affine pairs are merged, as long as they fit a page. Best fit packs the rest.
2. A search moves and exchanges pieces. It replays the recording after each step on round robin, as
   recorded and with disturbances (tool/native/plan/code_placement.c).

Pieces that were never executed lie on pages of their own, in the order of the linker: code of one
file is needed together, if at all.

A placement function gets ColdPieces and returns pages: lists of piece numbers, each piece once, no
page larger than PAGE_BYTES. Equal input gives equal pages.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tautochrone import native
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.touch_sequence import TouchSequence, checked
from tautochrone.errors import TauError

WINDOW = 6
SPARE_PAGES = 2  # For the search to move pieces to.
STEPS_MAX = 100_000
TOUCHES_MAX = 2_000_000_000  # In all steps together: some seconds.
SEED = 1
PIECES_MAX = 1 << 15  # Touched: a count for each pair of them.
Pages = list[list[int]]


@dataclass(frozen=True)
class ColdPieces:
    """The pieces to place. A piece is known by its number, which rises with its address.

    `is_cold` are to be placed; the others stay in RAM. `touches` are cold pieces in the order of
    execution, no two equal in a row.
    """

    sizes_bytes: Sequence[int]
    is_cold: np.ndarray
    touches: np.ndarray
    frames: int

    @property
    def numbers(self) -> list[int]:
        """The pieces to place."""
        return [int(number) for number in np.flatnonzero(self.is_cold)]

    def bytes_of(self, page: Sequence[int]) -> int:
        """The bytes of pieces."""
        return sum(self.sizes_bytes[number] for number in page)


Placer = Callable[[ColdPieces], Pages]


def without_repeats(touches: np.ndarray) -> np.ndarray:
    """Touches of which no two in a row are equal."""
    if not len(touches):
        return touches
    return touches[np.concatenate(([True], touches[1:] != touches[:-1]))]


# ---- Packing


def best_fit(groups: Sequence[list[int]], sizes: Sequence[int]) -> Pages:
    """Merge groups into pages: the largest first, each into the fullest page that has room.

    Ties: the group with the lowest piece first; the page that was begun first.
    """
    total = [sum(sizes[number] for number in group) for group in groups]
    order = sorted(range(len(groups)), key=lambda place: (-total[place], min(groups[place])))
    pages: Pages = []
    rooms: list[int] = []
    for place in order:
        need = total[place]
        fitting = [(room, page) for page, room in enumerate(rooms) if room >= need]
        if fitting:
            page = min(fitting)[1]
        else:
            page = len(pages)
            pages.append([])
            rooms.append(PAGE_BYTES)
        pages[page] += groups[place]
        rooms[page] -= need
    return pages


def in_order(numbers: Iterable[int], cold: ColdPieces) -> Pages:
    """Fill one page after the other with these pieces, in this order."""
    pages: Pages = []
    room = 0
    for number in numbers:
        need = cold.sizes_bytes[number]
        if need > room:
            pages.append([])
            room = PAGE_BYTES
        pages[-1].append(number)
        room -= need
    return pages


def in_link_order(cold: ColdPieces) -> Pages:
    """Pages in the order of the linker: the baseline without a search."""
    return in_order(cold.numbers, cold)


# ---- The search


class Touched(TouchSequence):
    """The touched pieces of a problem, numbered from 0, and the calls that look at each touch."""

    def __init__(self, cold: ColdPieces) -> None:
        self.numbers, touches = np.unique(cold.touches, return_inverse=True)
        sizes = np.array([cold.sizes_bytes[number] for number in self.numbers.tolist()])
        super().__init__(touches, sizes)
        self.frames = cold.frames

    def affinity(self) -> list[tuple[int, int, int]]:
        """(−times, piece, piece) of each pair that was among the last WINDOW, in rising order."""
        count = len(self.numbers)
        if count > PIECES_MAX:
            raise TauError(
                f"{count:,} cold pieces were touched; at most {PIECES_MAX:,} are possible"
            )
        counts = np.zeros((count, count), np.uint32)
        native.library().tau_code_affinity(self.sequence, WINDOW, counts)
        low, high = np.nonzero(counts)
        times = -counts[low, high].astype(np.int64)
        return sorted(zip(times.tolist(), low.tolist(), high.tolist(), strict=True))

    def improved(
        self, page_of: np.ndarray, pages_count: int, steps: int, seed: int = SEED
    ) -> np.ndarray:
        """A placement with fewer faults in all replays, if one was found in so many steps."""
        function = native.library().tau_code_improve
        search = native.struct("tau_code_search")(steps, seed, self.frames, pages_count)
        found = page_of.copy()
        if self.count:
            checked(function(self.sequence, search, found))
        return found

    def faults_bound(self) -> int:
        """A lower bound of the faults of all placements and policies, if no page is loaded at
        first."""
        return self.bound(self.frames * PAGE_BYTES, is_empty=True)


def place(cold: ColdPieces, seed: int = SEED) -> Pages:
    """Both steps, then the pages of pieces that were never executed. The search is random."""
    touched = Touched(cold)
    steps = min(STEPS_MAX, TOUCHES_MAX // max(touched.count, 1))
    return _with_frozen(cold, searched(cold, touched, steps, seed))


def place_by_affinity(cold: ColdPieces) -> Pages:
    """The first step alone, and the pages of pieces that were never executed."""
    return _with_frozen(cold, by_affinity(cold, Touched(cold)))


def searched(cold: ColdPieces, touched: Touched, steps: int, seed: int = SEED) -> Pages:
    """The pages of touched pieces after the search."""
    pages = by_affinity(cold, touched)
    pages_count = len(pages) + SPARE_PAGES
    places = {number: place for place, number in enumerate(touched.numbers.tolist())}
    page_of = np.zeros(len(places), np.uint16)
    for page, numbers in enumerate(pages):
        page_of[[places[number] for number in numbers]] = page
    page_of = touched.improved(page_of, pages_count, steps, seed)
    found: Pages = [[] for _ in range(pages_count)]
    for number, page in zip(touched.numbers.tolist(), page_of.tolist(), strict=True):
        found[page].append(number)
    return [page for page in found if page]


def by_affinity(cold: ColdPieces, touched: Touched) -> Pages:
    """The pages of touched pieces after merging. Ties: the lowest addresses."""
    numbers = touched.numbers.tolist()
    group_of = list(range(len(numbers)))
    groups = {place: [number] for place, number in enumerate(numbers)}
    sizes = {place: cold.sizes_bytes[number] for place, number in enumerate(numbers)}
    for _, one, other in touched.affinity():
        key, gone = sorted((_root(group_of, one), _root(group_of, other)))
        if key != gone and sizes[key] + sizes[gone] <= PAGE_BYTES:
            group_of[gone] = key
            groups[key] += groups.pop(gone)
            sizes[key] += sizes.pop(gone)
    return best_fit(list(groups.values()), cold.sizes_bytes)


def _root(group_of: list[int], place: int) -> int:
    while group_of[place] != place:
        group_of[place] = group_of[group_of[place]]
        place = group_of[place]
    return place


def _with_frozen(cold: ColdPieces, pages: Pages) -> Pages:
    executed = {number for page in pages for number in page}
    frozen = [number for number in cold.numbers if number not in executed]
    return [*pages, *in_order(frozen, cold)]

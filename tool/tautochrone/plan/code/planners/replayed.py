"""Our placement: the fewest faults in the replay of what was recorded.

1. Pieces that were touched shortly after each other are *affine*: both among the last six that were
   touched. The pairs that were so most often are merged, as long as they fit a page; what is left,
   by best fit.
2. A search moves and exchanges pieces, and replays the recording after each step on round robin, as
   it is and with disturbances (tool/native/plan/code_placement.c).

What was never executed is on pages of its own, in the order of the linker: code of one file is
needed together, if at all.
"""

from __future__ import annotations

import numpy as np

from tautochrone import native
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.plan.code.cold import Cold, Pages, best_fit
from tautochrone.plan.code.planners.link_order import in_order
from tautochrone.plan.code.sequence import Sequenced, checked

WINDOW = 6
SPARE_PAGES = 2  # for the search to move pieces to
STEPS_MAX = 100_000
TOUCHES_MAX = 2_000_000_000  # of all steps together: some seconds
SEED = 1
PAIRS_MAX = 1 << 22


class Touched(Sequenced):
    """The touched pieces of a question, numbered from 0, and the calls that look at each touch."""

    def __init__(self, cold: Cold) -> None:
        self.numbers, touches = np.unique(cold.touches, return_inverse=True)
        sizes = np.array([cold.sizes_bytes[number] for number in self.numbers.tolist()])
        super().__init__(touches, sizes)
        self.frames = cold.frames

    def affinity(self) -> list[tuple[int, int, int]]:
        """(−times, piece, piece) of each pair that was among the last WINDOW, in rising order."""
        pairs, counts = np.empty(PAIRS_MAX, np.uint64), np.empty(PAIRS_MAX, np.uint64)
        function = native.library().tau_code_affinity
        found = checked(function(self.sequence, WINDOW, pairs, counts, PAIRS_MAX))
        count = max(len(self.numbers), 1)
        rows = zip(pairs[:found].tolist(), counts[:found].tolist(), strict=True)
        return sorted((-times, pair // count, pair % count) for pair, times in rows)

    def faults(self, page_of: np.ndarray, pages_count: int) -> int:
        """Faults of round robin, with a page for each touched piece."""
        function = native.library().tau_code_faults
        return checked(function(self.sequence, page_of, pages_count, self.frames))

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
        """Faults that no placement and no policy comes below, if no page is loaded at first."""
        return self.bound(self.frames * PAGE_BYTES, is_empty=True)


def place(cold: Cold, seed: int = SEED) -> Pages:
    """Both steps, then the pages of what was never executed. The search takes steps at random."""
    touched = Touched(cold)
    steps = min(STEPS_MAX, TOUCHES_MAX // max(touched.count, 1))
    return _with_frozen(cold, searched(cold, touched, steps, seed))


def begun(cold: Cold) -> Pages:
    """The first step alone, and the pages of what was never executed."""
    return _with_frozen(cold, by_affinity(cold, Touched(cold)))


def searched(cold: Cold, touched: Touched, steps: int, seed: int = SEED) -> Pages:
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


def by_affinity(cold: Cold, touched: Touched) -> Pages:
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


def _with_frozen(cold: Cold, pages: Pages) -> Pages:
    executed = {number for page in pages for number in page}
    frozen = [number for number in cold.numbers if number not in executed]
    return [*pages, *in_order(frozen, cold)]

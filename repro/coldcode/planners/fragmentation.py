"""The paper's pass that merges small pages [P3-17].

1. Small pages that hold code which was close together in the kernel are merged, the closest first.
2. The remaining ones are merged by best fit.

The paper defines neither small nor close. Here a page is small if it is at most half
full, and two are close if pieces of theirs start within a page's size of each other. Ties: the
lowest pieces.
"""

from bisect import bisect_left

from repro.coldcode.planners.edges import LinkedPieces
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.placement import Pages, best_fit


def merged(cold: LinkedPieces, pages: Pages) -> Pages:
    """The pages after the pass."""
    sizes = {min(page): cold.bytes_of(page) for page in pages if page}
    members = {min(page): sorted(page) for page in pages if page}
    _merge_close(cold, sizes, members)
    small = [page for key, page in members.items() if sizes[key] <= PAGE_BYTES // 2]
    full = [page for key, page in members.items() if sizes[key] > PAGE_BYTES // 2]
    return best_fit([*full, *small], cold.sizes_bytes)


def _merge_close(cold: LinkedPieces, sizes: dict[int, int], members: dict[int, list[int]]) -> None:
    """Merge small pages along pairs of pieces, the closest first. A page never becomes smaller, so
    that each pair is looked at once."""
    page_of = {number: key for key, page in members.items() for number in page}
    placed = sorted(page_of)
    starts = [cold.addresses[number] for number in placed]
    pairs = []
    for place, number in enumerate(placed):
        last = bisect_left(starts, starts[place] + PAGE_BYTES)
        for other in range(place + 1, last):
            pairs.append((starts[other] - starts[place], number, placed[other]))
    for _, number, other in sorted(pairs):
        key, gone = sorted((page_of[number], page_of[other]))
        if key != gone and max(sizes[key], sizes[gone]) <= PAGE_BYTES // 2:
            page_of |= dict.fromkeys(members[gone], key)
            members[key] = sorted(members[key] + members.pop(gone))
            sizes[key] += sizes.pop(gone)

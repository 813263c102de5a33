"""Golden model of discovery: which pages share a set, without any theory of indices.

For one array with LRU and a counter of walks. A set of pages that evicts page 0 is reduced, page by
page, to one that is as small as possible: these are the ways of page 0's set. Another page shares
the set if it can take the place of one of them. Cost: quadratic in pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Walks = Callable[[Sequence[int]], int]  # cost of the last access, after all others


def eviction_set(walks: Walks, pages: int) -> list[int]:
    """The fewest pages of 1 ... pages − 1 that evict page 0; empty if all together do not."""
    found = list(range(1, pages))
    if not walks([0, *found, 0]):
        return []
    for page in range(1, pages):
        fewer = [each for each in found if each != page]
        if walks([0, *fewer, 0]):
            found = fewer
    return found


def mates(walks: Walks, pages: int) -> tuple[int, list[int]]:
    """The ways of page 0's set, and all pages of it; 0 ways if nothing evicts page 0."""
    evicting = eviction_set(walks, pages)
    if not evicting:
        return 0, []
    same = [
        page for page in range(1, pages) if page in evicting or walks([0, *evicting[1:], page, 0])
    ]
    return len(evicting), [0, *same]

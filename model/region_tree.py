"""Golden model of the virtual regions tree: a set of region starts, and no cleverness.

Written from docs/spec/region_tree.md. A space of 2^k pages is cut into regions; the set
holds the first page of each. Page 0 is always in it.
"""

from __future__ import annotations

PAGES_LOG2_MIN = 1
PAGES_LOG2_MAX = 20  # a build may take up to 26
WORD_BITS = 32


def size_bytes(pages_log2: int, pages_log2_max: int = PAGES_LOG2_MAX) -> int:
    """Bytes of the tree's memory for 2^`pages_log2` pages; 0 if that is out of range.

    Levels 0 and 1 are as large as the tree, the others as large as in the largest tree.
    """
    if not PAGES_LOG2_MIN <= pages_log2 <= pages_log2_max:
        return 0
    words, level = 0, 0
    while True:
        pages = 2 ** (pages_log2 if level < 2 else pages_log2_max)
        words += max(1, pages // WORD_BITS ** (level + 1))
        if 2**pages_log2_max <= WORD_BITS ** (level + 1):
            return 4 * words
        level += 1


class RegionTree:
    """The regions of a space of 2^`pages_log2` pages; at first one, which starts at page 0."""

    def __init__(self, pages_log2: int) -> None:
        """Raises ValueError if `pages_log2` is out of range."""
        if not PAGES_LOG2_MIN <= pages_log2 <= PAGES_LOG2_MAX:
            raise ValueError(f"a space of 2^{pages_log2} pages")
        self.pages = 2**pages_log2
        self.starts = {0}

    def _inside(self, page: int) -> None:
        if not 0 <= page < self.pages:
            raise ValueError(f"page {page} is outside")

    def is_start(self, page: int) -> bool:
        """Whether a region starts at `page`."""
        self._inside(page)
        return page in self.starts

    def find(self, page: int) -> int:
        """The first page of the region that `page` lies in."""
        self._inside(page)
        return max(start for start in self.starts if start <= page)

    def next(self, page: int) -> int | None:
        """The first page of the first region that starts after `page`, None if none does."""
        self._inside(page)
        return min((start for start in self.starts if start > page), default=None)

    def split(self, page: int) -> None:
        """Cut the region that `page` lies in in front of it. `page` must start none."""
        self._inside(page)
        if page in self.starts:
            raise ValueError(f"page {page} starts a region already")
        self.starts.add(page)

    def union(self, page: int) -> None:
        """Join the region that starts at `page` to the one in front of it; not page 0's."""
        if page == 0 or page not in self.starts:
            raise ValueError(f"page {page} starts no region with another in front of it")
        self.starts.remove(page)

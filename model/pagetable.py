"""Golden model of the plain page table: a dictionary of the mapped pages.

Written from the contract alone. Every operation returns the C function's result: a status name.
Cost: proportional to the range, as in the original.
"""

from __future__ import annotations

from model.frames import Frames

READ, WRITE, EXECUTE = 1, 2, 4
RIGHTS = READ | WRITE | EXECUTE


class PageTable:
    """2^PAGES_LOG2 pages that take frames from POOL. `mapped`: page -> (frame, rights)."""

    def __init__(self, pages_log2: int, pool: Frames) -> None:
        """A table in which nothing is mapped."""
        self.pages_count = 1 << pages_log2
        self.pool = pool
        self.mapped: dict[int, tuple[int, int]] = {}

    def _outside(self, page: int) -> str | None:
        if page == 0:
            return "PAGE_ZERO"
        return "PAGE_OUTSIDE" if page >= self.pages_count else None

    def map_page(self, page: int, rights: int) -> str:
        """As tau_pagetable_map_page."""
        if reason := self._outside(page):
            return reason
        if rights == 0 or rights & ~RIGHTS:
            return "BAD_ARGUMENT"
        if page in self.mapped:
            return "PAGE_MAPPED"
        frame = self.pool.take()
        if frame is None:
            return "NO_FRAME"
        self.mapped[page] = frame, rights
        return "OK"

    def unmap(self, start: int, pages: int) -> str:
        """As tau_pagetable_unmap: page by page, so the last one's frame is taken next [P0-34]."""
        if reason := self._outside(start):
            return reason
        if start + pages > self.pages_count:
            return "REGION_TOO_LARGE"
        for page in range(start, start + pages):
            if page in self.mapped:
                self.pool.release([self.mapped.pop(page)[0]])
        return "OK"

    def translate(self, page: int, access: int) -> tuple[str, int | None]:
        """As tau_pagetable_translate: the status, and the frame of a mapped page."""
        if page not in self.mapped:
            return "NOT_IN_REGION", None
        frame, rights = self.mapped[page]
        return ("ACCESS_DENIED" if access & ~rights else "OK"), frame

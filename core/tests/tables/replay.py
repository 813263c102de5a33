"""Calls of calls_pagetable.c and calls_region_tree.c in the models of the same names."""

from __future__ import annotations

from core.tests.kit.replay import Replay
from model.frames import Frames, Machine
from model.pagetable import PageTable
from model.region_tree import RegionTree, size_bytes


class PageTableReplay(Replay):
    """Every status and frame."""

    expected = """
    map_page OK PAGE_ZERO PAGE_OUTSIDE BAD_ARGUMENT PAGE_MAPPED NO_FRAME
    unmap OK PAGE_ZERO PAGE_OUTSIDE REGION_TOO_LARGE
    translate OK NOT_IN_REGION ACCESS_DENIED
    """

    def line_M(self, frames_count: int) -> None:
        """A machine."""
        self.pool = Frames(Machine(frames_count))
        assert self.pool.add(0, frames_count) == "OK"
        self.tables: dict[int, PageTable] = {}

    def line_S(self, index: int, pages_log2: int) -> None:
        """A table is made."""
        self.tables[index] = PageTable(pages_log2, self.pool)

    def line_P(self, index: int, page: int, rights: int, status: int) -> None:
        """map_page."""
        self.expect("map_page", self.tables[index].map_page(page, rights), status)

    def line_U(self, index: int, start: int, pages: int, status: int) -> None:
        """unmap."""
        self.expect("unmap", self.tables[index].unmap(start, pages), status)

    def line_T(self, index: int, page: int, access: int, status: int, frame: int) -> None:
        """translate."""
        answer, found = self.tables[index].translate(page, access)
        self.expect("translate", answer, status)
        assert (found or 0) == frame


class RegionTreeReplay(Replay):
    """Calls of calls_region_tree.c: each page's region and the one after it."""

    def line_I(self, pages_log2: int, bytes_count: int) -> None:
        """A tree is made."""
        self.tree = RegionTree(pages_log2)
        assert size_bytes(pages_log2) == bytes_count

    def line_F(self, page: int, start: int, has_next: int, following: int, is_start: int) -> None:
        """A page is asked for."""
        assert self.tree.find(page) == start
        assert (self.tree.next(page) or 0, self.tree.next(page) is not None) == (
            following,
            has_next,
        )
        assert self.tree.is_start(page) == is_start

    def line_S(self, page: int) -> None:
        """A region begins."""
        self.tree.split(page)

    def line_U(self, page: int) -> None:
        """A region joins the one in front."""
        self.tree.union(page)

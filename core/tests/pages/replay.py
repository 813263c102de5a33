"""Calls of spaces.h in model/vspace.py and model/hierarchy.py, which share model/frames.py."""

from __future__ import annotations

from core.tests.kit.replay import Replay
from model.frames import Frames, Machine
from model.hierarchy import HierarchicalSpace, Tables
from model.vspace import Space

COMMITTED = 2  # and the kinds above have frames of their own


class VspaceReplay(Replay):
    """Address spaces on one machine, whose pages keep the words written to them."""

    expected = """
    add OK BAD_ARGUMENT FRAME_OUTSIDE FRAME_TWICE
    map_region OK BAD_ARGUMENT PAGE_ZERO PAGE_OUTSIDE REGION_TOO_LARGE REGION_OVERLAPS NOT_ADMITTED
    map_page OK PAGE_ZERO PAGE_OUTSIDE NOT_IN_REGION ACCESS_DENIED PAGE_MAPPED NO_FRAME
    unmap_region OK PAGE_ZERO PAGE_OUTSIDE NOT_A_REGION
    translate OK NOT_IN_REGION ACCESS_DENIED
    """

    def space(self, pages_log2: int, pool: Frames, commits: bool) -> Space:
        """A new space."""
        return Space(pages_log2, pool, commits=commits)

    def close(self, space: Space) -> None:
        """A space without regions is given up, which changes nothing."""

    def line_M(self, frames_count: int, records_count: int) -> None:
        """A machine."""
        self.machine_pool = Frames(Machine(frames_count))
        self.tables = Tables(records_count)
        self.spaces: dict[int, Space] = {}

    def line_A(self, first: int, count: int, status: int) -> None:
        """Frames are handed in."""
        self.expect("add", self.machine_pool.add(first, count), status)

    def line_C(self, was_dirty: int) -> None:
        """One frame is cleaned."""
        assert self.machine_pool.clean_one() == bool(was_dirty)

    def line_S(self, index: int, pages_log2: int, kind: int, reserved_count: int) -> None:
        """A space is made."""
        pool: Frames | None = self.machine_pool
        if kind >= COMMITTED:
            pool = self.machine_pool.reserve(reserved_count)
        assert pool is not None
        self.spaces[index] = self.space(pages_log2, pool, kind == COMMITTED)

    def line_G(self, index: int) -> None:
        """A space is given up; its reserved frames are given back."""
        space = self.spaces.pop(index)
        self.close(space)
        if space.pool is not self.machine_pool:
            self.machine_pool.take_back(space.pool)

    def line_R(self, index: int, start: int, pages: int, rights: int, status: int) -> None:
        """map_region."""
        self.expect("map_region", self.spaces[index].map_region(start, pages, rights), status)

    def line_P(self, index: int, page: int, access: int, status: int, frame: int) -> None:
        """map_page: the page is empty, or has what this space wrote."""
        space = self.spaces[index]
        self.expect("map_page", space.map_page(page, access), status)
        if status == 0:
            assert space.mapped[page] == frame
            assert space.read(page) in (None, f"{id(space)}")
            space.name = f"{id(space)}"
            space.write(page)

    def line_U(self, index: int, start: int, status: int) -> None:
        """unmap_region."""
        self.expect("unmap_region", self.spaces[index].unmap_region(start), status)

    def line_T(self, index: int, page: int, access: int, status: int, frame: int) -> None:
        """translate."""
        answer, found = self.spaces[index].translate(page, access)
        self.expect("translate", answer, status)
        assert answer != "OK" or found == frame


class HierarchyReplay(VspaceReplay):
    """Hierarchical tables, which may run out of records."""

    expected = VspaceReplay.expected + "map_region NO_TABLE\nmap_page NO_TABLE"

    def space(self, pages_log2: int, pool: Frames, commits: bool) -> HierarchicalSpace:
        """A new space."""
        return HierarchicalSpace(pages_log2, pool, self.tables, commits)

    def close(self, space: Space) -> None:
        """A space without regions is given up."""
        assert isinstance(space, HierarchicalSpace)
        assert space.close() == "OK"

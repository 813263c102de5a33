"""Calls of calls_buddy.c in model/buddy.py."""

from __future__ import annotations

from core.tests.kit.replay import Replay
from model.buddy import ORDERS, Buddy


class BuddyReplay(Replay):
    """Which block is taken, and every status."""

    expected = """
    add OK BAD_ARGUMENT FRAME_OUTSIDE FRAME_TWICE
    take OK BAD_ARGUMENT NO_FRAME
    give OK BAD_ARGUMENT FRAME_OUTSIDE FRAME_FREE FRAME_ORDER
    take_mix OK NO_FRAME
    """

    def line_I(self, frames_count: int) -> None:
        """A table is made."""
        self.buddy = Buddy(frames_count)

    def line_A(self, first: int, count: int, status: int) -> None:
        """Frames are handed in."""
        self.expect("add", self.buddy.add(first, count), status)

    def line_T(self, order: int, status: int, frame: int) -> None:
        """A block is taken."""
        answer, found = self.buddy.take(order)
        self.expect("take", answer, status)
        assert found & 0xFFFFFFFF == frame

    def line_G(self, frame: int, order: int, status: int) -> None:
        """A block is given back."""
        self.expect("give", self.buddy.give(frame, order), status)

    def line_M(self, status: int, *words: int) -> None:
        """A mix is taken: counts from the largest order on, then frames."""
        answer, frames = self.buddy.take_mix(words[ORDERS - 1 :: -1])
        self.expect("take_mix", answer, status)
        assert frames == list(words[ORDERS:])

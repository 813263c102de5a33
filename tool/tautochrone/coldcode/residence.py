"""Chooses the code that stays in RAM: pieces that would be loaded most often.

A threshold keeps the code that is executed most often. But code that is executed a million times in
one second of the day costs one load a day. Code that is executed once a second may cost a load each
time. So this module loads single pieces into a queue that has as many bytes as the frames. The
pieces that miss most often stay. They are chosen in steps, because the rest then has the queue for
itself.
"""

from collections.abc import Sequence

import numpy as np

from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.pieces import Code, Split, part_of
from tautochrone.coldcode.placement import without_repeats
from tautochrone.coldcode.touch_sequence import TouchSequence

ROUNDS = 48


def order_of(code: Code, frames: int) -> np.ndarray:
    """Executed pieces that can leave RAM, the one that should stay first, first."""
    is_cold = code.coldest & (code.most > 0)
    all_bytes = int(code.sizes_bytes[is_cold].sum())
    touches = code.touches.astype(np.uint32)
    order = np.empty(0, np.int64)
    while is_cold.any():
        touches = without_repeats(touches[is_cold[touches]])
        misses = TouchSequence(touches, code.sizes_bytes).misses(frames * PAGE_BYTES)
        left = np.flatnonzero(is_cold)
        ranks = np.argsort(-misses[left], kind="stable")
        sums = np.cumsum(code.sizes_bytes[left[ranks]])
        chosen = left[ranks[: int(np.searchsorted(sums, all_bytes // ROUNDS)) + 1]]
        order = np.concatenate((order, chosen))
        is_cold[chosen] = False
    return order


class Splits(Sequence[Split]):
    """One per piece of `order_of`: the first leaves all of them in RAM, the last none."""

    def __init__(self, code: Code, frames: int) -> None:
        self._code, self._order = code, order_of(code, frames)

    def __len__(self) -> int:
        return len(self._order) + 1

    def __getitem__(self, place: int) -> Split:
        """The split that leaves PLACE pieces less in RAM than all."""
        if not 0 <= place <= len(self._order):
            raise IndexError(place)
        is_cold = self._code.coldest
        is_cold[self._order[: len(self._order) - place]] = False
        return Split(part_of(self._code, is_cold), is_cold)

    def fitting(self, resident_bytes: int) -> Split | None:
        """The first one with so much code that stays, at most; None if there is none."""
        room = resident_bytes - self._code.resident_bytes(self._code.coldest)
        sizes = np.cumsum(self._code.sizes_bytes[self._order])
        count = int(np.searchsorted(sizes, room, side="right"))
        return None if room < 0 else self[len(self._order) - count]

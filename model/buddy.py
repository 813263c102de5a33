"""Golden model of the buddy allocator: sets of blocks, and per order the groups newest first.

Written from docs/spec/buddy.md. A block is (order, first frame). Every operation returns the C
function's result: a status name, and where one is taken its first frame. Cost: proportional to the
blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

ORDERS = 8
ARITY = 4
FRAMES_MAX = 1 << 17
LINK_BYTES = 4

Block = tuple[int, int]


def size_bytes(frames_count: int) -> int:
    """Bytes of state: a link and a byte per group, a link per list."""
    groups = sum(-(-frames_count // ARITY ** (order + 1)) for order in range(ORDERS))
    return (LINK_BYTES + 1) * groups + LINK_BYTES * ORDERS


def siblings(block: Block) -> list[Block]:
    """The four blocks of a block's group, ascending."""
    order, first = block
    start = first - first % ARITY ** (order + 1)
    return [(order, start + member * ARITY**order) for member in range(ARITY)]


@dataclass
class Buddy:
    """An allocator of `frames_count` frames, none handed in yet."""

    frames_count: int
    frames_end: int = 0
    free: set[Block] = field(default_factory=set)
    taken: set[Block] = field(default_factory=set)
    lists: list[list[int]] = field(default_factory=lambda: [[] for _ in range(ORDERS)])

    def add(self, first: int, count: int) -> str:
        """As tau_buddy_add."""
        if count == 0:
            return "BAD_ARGUMENT"
        if first + count > self.frames_count:
            return "FRAME_OUTSIDE"
        if first < self.frames_end:
            return "FRAME_TWICE"
        self.frames_end = first + count
        while first < self.frames_end:
            order = max(
                order
                for order in range(ORDERS)
                if first % ARITY**order == 0 and first + ARITY**order <= self.frames_end
            )
            self._release((order, first))
            first += ARITY**order
        return "OK"

    def take(self, order: int) -> tuple[str, int]:
        """As tau_buddy_take; the frame is -1 if there is none."""
        if order >= ORDERS:
            return "BAD_ARGUMENT", -1
        found = next((at for at in range(order, ORDERS) if self.lists[at]), None)
        if found is None:
            return "NO_FRAME", -1
        group = siblings((found, self.lists[found][0]))
        block = min(set(group) & self.free)
        self.free.remove(block)
        if not set(group) & self.free:
            self.lists[found].pop(0)
        _, frame = block
        for at in reversed(range(order, found)):
            self.free.update(siblings((at, frame))[1:])
            self.lists[at].insert(0, frame)
        self.taken.add((order, frame))
        return "OK", frame

    def take_mix(self, counts: Sequence[int]) -> tuple[str, list[int]]:
        """As tau_buddy_take_mix."""
        for least in range(ORDERS):
            asked = sum(counts[order] * ARITY**order for order in range(least, ORDERS))
            there = sum(ARITY**order for order, _ in self.free if order >= least)
            if asked > there:
                return "NO_FRAME", []
        frames = []
        for order in reversed(range(ORDERS)):
            frames += [self.take(order)[1] for _ in range(counts[order])]
        return "OK", frames

    def give(self, frame: int, order: int) -> str:
        """As tau_buddy_give."""
        if order >= ORDERS:
            return "BAD_ARGUMENT"
        if frame >= self.frames_count:
            return "FRAME_OUTSIDE"
        if (order, frame) not in self.taken:
            holding = {(at, frame - frame % ARITY**at) for at in range(ORDERS)}
            if holding & self.free:
                return "FRAME_FREE"
            return "FRAME_ORDER" if holding & self.taken else "FRAME_OUTSIDE"
        self.taken.remove((order, frame))
        self._release((order, frame))
        return "OK"

    def free_count(self, order: int) -> int:
        """As tau_buddy_free_count."""
        return sum(at == order for at, _ in self.free)

    def free_frames_count(self) -> int:
        """As tau_buddy_free_frames_count."""
        return sum(ARITY**order for order, _ in self.free)

    def largest(self) -> int | None:
        """The order that tau_buddy_largest stores, None if nothing is free."""
        return max((order for order, _ in self.free), default=None)

    def _release(self, block: Block) -> None:
        order, _ = block
        group = siblings(block)
        _, start = group[0]
        was_listed = bool(set(group) & self.free)
        self.free.add(block)
        if order < ORDERS - 1 and set(group) <= self.free:
            self.free -= set(group)
            self.lists[order].remove(start)
            self._release((order + 1, start))
        elif not was_listed:
            self.lists[order].insert(0, start)

"""The simulated tile as an oracle: a program walks over pages of its window, in exact cycles.

Its unit's registers hold the truth, and its counters tell misses. targets/programs/walk.c does the
walks; the simulator waits for commands, so one process answers all of them.
"""

from __future__ import annotations

import struct

import numpy as np

from tautochrone.machine.images import building
from tautochrone.targets.build import kept
from tautochrone.tile.simulation import Conversation
from tautochrone.tile.sources import root
from tautochrone.tlb.discover.processors.oracle import Facts, Pages, Ticks, pages_of
from tautochrone.tlb.tile.shape import PAGE_BITS, Shape

PROGRAM = "targets/programs/walk.c"
LINK, WALK = 0, 1
WALK_CELL, BEFORE_CELL, AFTER_CELL = 0, 1, 2
SETTLING_PASSES = 6
BURST_ACCESSES = 64  # at least, so that starting the stopwatch does not matter
PAGE_BYTES = 4096
TESTED_BITS = PAGE_BITS - 1  # page 0 of the window does not exist, so all lie in its upper half
START = 1 << TESTED_BITS
MARGIN_LOG2 = 2  # beyond the largest array


class Tile:
    """The tile with a TLB of some shape. The caller closes it, or uses it as a context."""

    def __init__(self, shape: Shape, seed: int = 1) -> None:
        entries = max(sets * ways for sets, ways in shape.levels)
        self.facts = Facts(
            name=f"tile with {shape.name}, {shape.policy}",
            page_bytes=PAGE_BYTES,
            page_bits=TESTED_BITS,
            directory_bits=None,
            unit="cycle",
            is_shared=False,
            is_exact=True,
            block_log2_max=min(TESTED_BITS, entries.bit_length() - 1 + MARGIN_LOG2),
            notes=(f"bit {TESTED_BITS} of page numbers is not tested",),
        )
        self.counted_levels = tuple(range(len(shape.levels)))
        self._dice = np.random.default_rng(seed)
        with building():
            program = kept("tile", "walk", root(), [PROGRAM])
        self._conversation = Conversation(shape.simulator(), program)

    def __enter__(self) -> Tile:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the simulation."""
        self._conversation.close()

    def walk(self, pages: Pages, shuffles: int) -> Ticks:
        return np.array([self._counted(pages)[0] for _ in range(shuffles)])

    def misses(self, pages: Pages, level: int) -> float:
        """Misses of a pass in a level, from the unit's counters."""
        return self._counted(pages)[1 + level] * pages.size

    def _counted(self, pages: Pages) -> tuple[float, ...]:
        """Cycles of an access in a random order after some passes, and misses in each level."""
        order = self._dice.permutation(pages)
        self._link(order, WALK_CELL)
        self._walk(order, WALK_CELL, SETTLING_PASSES)
        passes = -(-BURST_ACCESSES // pages.size)
        return tuple(each / (passes * pages.size) for each in self._walk(order, WALK_CELL, passes))

    def after(self, before: Pages, pages: Pages) -> float:
        if before.size:
            self._link(before, BEFORE_CELL)
        self._link(pages, AFTER_CELL)
        if before.size:
            self._walk(before, BEFORE_CELL, 1)
        return float(self._walk(pages, AFTER_CELL, 1)[0])

    def baseline(self, count: int, fitting: int) -> float:
        # The tile has no data cache, and one page settles at once, whatever the replacement policy.
        del count, fitting
        return self._counted(pages_of([0]))[0]

    def _link(self, pages: Pages, cell: int) -> None:
        numbers = (pages + np.uint64(START)).tolist()
        following = [*numbers[1:], numbers[0]]
        self._conversation.send(
            b"".join(
                struct.pack("<4I", LINK, page, then, cell)
                for page, then in zip(numbers, following, strict=True)
            )
        )

    def _walk(self, pages: Pages, cell: int, passes: int) -> tuple[int, int, int]:
        start = START + int(pages[0])
        self._conversation.send(struct.pack("<4I", WALK, start, passes * pages.size, cell))
        answer = self._conversation.answer()
        return answer.cycles, answer.sent & 0xFFFF, answer.sent >> 16

"""The simulated tile as an oracle: a program walks over pages of its window, in exact cycles.

Its unit's registers hold the truth, and its counters tell misses. targets/programs/walk.c does the
walks; the simulator waits for commands, so one process answers all of them.
"""

from __future__ import annotations

import os
import struct
import subprocess

import numpy as np

from tautochrone.machine.images import building
from tautochrone.errors import TauError
from tautochrone.replay.tile.program import hardware_folder
from tautochrone.targets.build import BuildError, kept
from tautochrone.tlb.discover.processors.oracle import Facts, Pages, Ticks, pages_of
from tautochrone.tlb.tile.shape import PAGE_BITS, Shape

PROGRAM = "targets/programs/walk.c"
LINK, WALK = 0, 1
WALK_CELL, BEFORE_CELL, AFTER_CELL = 0, 1, 2
SETTLING_PASSES = 6
BURST_ACCESSES = 64  # at least, so that starting the stopwatch does not matter
RESULT_BYTES = 32
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
        try:
            with building():
                program = kept("tile", "walk", hardware_folder().parent, [PROGRAM])
        except BuildError as error:
            raise TauError(error.message, error.next_step, said=error.said) from error
        line = [str(shape.simulator()), "--program", str(program), "--parent", str(os.getpid())]
        line += ["--commands", "-", "--results", "-", "--cycles-max", str(1 << 40)]
        self._process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def __enter__(self) -> Tile:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the simulation."""
        self._process.kill()
        self._process.communicate()

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
        # There is no data cache, and one page settles at once, whatever the replacement policy.
        del count, fitting
        return self._counted(pages_of([0]))[0]

    def _link(self, pages: Pages, cell: int) -> None:
        numbers = (pages + np.uint64(START)).tolist()
        following = [*numbers[1:], numbers[0]]
        self._send(
            b"".join(
                struct.pack("<4I", LINK, page, then, cell)
                for page, then in zip(numbers, following, strict=True)
            )
        )

    def _walk(self, pages: Pages, cell: int, passes: int) -> tuple[int, int, int]:
        self._send(struct.pack("<4I", WALK, START + int(pages[0]), passes * pages.size, cell))
        assert self._process.stdout is not None
        record = self._process.stdout.read(RESULT_BYTES)
        if len(record) < RESULT_BYTES:
            raise TauError("the tile stopped", "run `tau doctor` to see what is missing")
        words = struct.unpack("<8I", record)
        return words[2], words[6] & 0xFFFF, words[6] >> 16

    def _send(self, commands: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(commands)
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise TauError("the tile stopped") from error

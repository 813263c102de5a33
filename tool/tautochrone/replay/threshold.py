"""The threshold of a heap of ours: from this size on, every heap holds a trace.

Where a TLSF places an object depends on the calls before and on its tables, not on how much memory
is left: the rest of the heap is taken last (core/private/heap/tlsf_wilderness.h). So one run in a
heap that holds tells how much of it was needed, and with the same tables every heap of that size or
more places every object in the same place. The tables depend on the size: four numbers of
second-level bits, and of classes, which move the first block. The latter counts only if objects are
asked for at larger alignments than the heap's own.

`threshold` measures each kind of tables once, from the largest heap downward, until some heap is
too small for what its tables need: at most four runs, if none fails and no alignments are asked
for. A smaller heap may hold the trace, too, by other places; a somewhat larger one then need not.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

Blocks = dict[tuple[int, int], int]  # of kinds of tables, the bytes that all blocks take
ABOVE = 1.25  # with alignments asked for, heaps up to so many times the threshold are looked at


class Tables(NamedTuple):
    """The tables of heaps from `least_bytes` to `most_bytes` (replay.h, tau_replay_tables)."""

    level: int
    first_bytes: int
    least_bytes: int
    most_bytes: int


@dataclass(frozen=True)
class Heaps:
    """The heaps of a system for one trace.

    `run` runs the trace in a heap of some size and returns the least heap with equal tables and
    places, 0 if that is unknown, None if the trace fails. It is asked again for the same size.
    `tables` are those of a heap of some size. Objects are asked for at multiples of up to
    `asked_bytes`. Sizes are multiples of `unit_bytes`, none above `limit_bytes`.
    """

    run: Callable[[int], int | None]
    tables: Callable[[int], Tables]
    unit_bytes: int
    limit_bytes: int
    asked_bytes: int = 1

    @property
    def is_aligned(self) -> bool:
        """Whether the place of the first block counts."""
        return self.asked_bytes > self.unit_bytes


def threshold(heaps: Heaps, guess_bytes: int, least_bytes: int = 0) -> int:
    """The least size from which on every heap holds the trace; 0: there is none.

    Up to the largest heap, or with alignments up to ABOVE times the result, which is at least
    `least_bytes` then. `guess_bytes` is a size that probably holds; one that is too large costs
    nothing.
    """
    blocks: Blocks = {}
    top = heaps.limit_bytes
    if not heaps.is_aligned:
        return _downward(heaps, top, guess_bytes, blocks)
    found = _grown(heaps, guess_bytes, top)
    found = max(found, _whole(heaps, least_bytes)) if found else 0
    while 0 < found <= heaps.limit_bytes:  # bound: the kinds of tables, as each round adds some
        top = min(_whole(heaps, int(found * ABOVE)), heaps.limit_bytes)
        least = _downward(heaps, top, guess_bytes, blocks)
        if least and max(least, least_bytes) * ABOVE <= top + heaps.unit_bytes:
            return max(_with_room(heaps, least), _whole(heaps, least_bytes))
        found = max(least, _whole(heaps, found + found // 8))
    return 0


def _downward(heaps: Heaps, top: int, guess_bytes: int, blocks: Blocks) -> int:
    """The threshold up to `top`; 0: it fails in that."""
    found = 0
    size = min(top, _floor(heaps, heaps.tables(top).most_bytes))
    while size > 0:  # bound: the kinds of tables
        tables = heaps.tables(size)
        lowest = _whole(heaps, tables.least_bytes)
        least = _least(heaps, tables, size, guess_bytes, blocks)
        if least is None:
            break
        found = least
        if least > lowest:
            break
        size = lowest - heaps.unit_bytes
    return found


def _least(
    heaps: Heaps, tables: Tables, most: int, guess_bytes: int, blocks: Blocks
) -> int | None:
    """The least heap with `tables`, up to `most`, that holds; None: none does."""
    kind = (tables.level, tables.first_bytes % heaps.asked_bytes if heaps.is_aligned else 0)
    least = _whole(heaps, tables.least_bytes)
    if kind not in blocks:
        size = _grown(heaps, max(guess_bytes, least), most)
        if size == 0:
            return None
        blocks[kind] = (heaps.run(size) or 0) - heaps.tables(size).first_bytes
    while least <= most:  # bound: the classes, each of which moves the first block
        wanted = _whole(heaps, heaps.tables(least).first_bytes + blocks[kind])
        if wanted <= least:
            return least
        least = wanted
    return None


def _grown(heaps: Heaps, size: int, most: int) -> int:
    """`size` or a larger heap, of which is known what it needs; 0: none up to `most`."""
    size = min(_whole(heaps, max(size, 1)), most)  # a trace may have no objects
    while not heaps.run(size):  # bound: 64, as the size is doubled
        if size >= most:
            return 0
        size = min(2 * size, most)
    return size


def _with_room(heaps: Heaps, least: int) -> int:
    """`least`, or a little more: a heap refuses an object that might not fit behind a gap.

    It counts the widest gap, so a heap may be too small for the rule and not for the object.
    """
    sizes = range(least, least + 2 * heaps.asked_bytes + 64, heaps.unit_bytes)
    return sizes[bisect.bisect_left(sizes, True, key=lambda size: heaps.run(size) is not None)]


def _whole(heaps: Heaps, size_bytes: int) -> int:
    return -(-size_bytes // heaps.unit_bytes) * heaps.unit_bytes


def _floor(heaps: Heaps, size_bytes: int) -> int:
    return size_bytes - size_bytes % heaps.unit_bytes

"""Algorithm 1 of the paper, FIND_BITS [P4-11], where misses can be counted.

Twice as many pages as a set has ways are accessed again and again, at distances of 2^k pages. With
LRU every access misses as soon as all of them share a set, with others most do; so k is the number
of index bits. It finds an index of the lowest bits only, so it is a check of what timing has found,
not a way to find it.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tautochrone.tlb.discover.checks import Check
from tautochrone.tlb.discover.index import Index
from tautochrone.tlb.discover.processors.oracle import Pages, pages_of

MOST = 0.4  # of the accesses miss: other policies than LRU keep some. In two sets all would fit
CONFIRMED, REFUTED = 0.5, 0.0


@runtime_checkable
class Counting(Protocol):
    """A processor that counts misses; `counted_levels` says of which levels."""

    counted_levels: tuple[int, ...]

    def misses(self, pages: Pages, level: int) -> float:
        """Misses of a pass in a level, once entries have settled."""


def is_linear(index: Index) -> bool:
    """Whether it is the lowest bits."""
    return sorted(index.rows) == [1 << bit for bit in range(len(index.rows))]


def find_bits(processor: Counting, level: int, ways: int, bits: int) -> int | None:
    """How many of the lowest bits are the index; None if no distance conflicts."""
    count = 2 * ways
    for exponent in range(bits):
        if ((count - 1) << exponent).bit_length() > bits:
            break
        pages = pages_of([number << exponent for number in range(count)])
        if processor.misses(pages, level) >= MOST * count:
            return exponent
    return None


def check_of(processor: Counting, level: int, index: Index, ways: int, bits: int) -> Check:
    """Whether Algorithm 1 finds the same index."""
    is_same = find_bits(processor, level, ways, bits) == len(index.rows)
    return Check("Algorithm 1", int(is_same), 1, CONFIRMED if is_same else REFUTED)

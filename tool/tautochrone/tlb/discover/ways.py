"""How many entries a set has: the most pages of one set that settle.

docs/spec/discover.md, [DISC-15], [DISC-16].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tautochrone.tlb.discover.groups import Groups
from tautochrone.tlb.discover.index import Index
from tautochrone.tlb.discover.linear import span, sums
from tautochrone.tlb.discover.meter import Meter
from tautochrone.tlb.discover.processors.oracle import Pages, Unknown

DRAWS = 4  # of sets, for each number of pages
SETTLED = 0.3  # misses per pass and set
ALL_MISS = 0.9  # of the pages
FEW = 0.25  # of the pages: they may be entries that evict each other in a set that has room
MANY = 4  # times what overflows a set: all of it misses, whatever the replacement policy


@dataclass(frozen=True)
class Ways:
    """At least `least`: so many pages settled. At most `most`: of more, too many missed.

    They are equal if one page more makes all miss. Else a full set may be one that never settles.
    `walk`: ticks of a miss.
    """

    least: int
    most: int
    walk: float


def mates(index: Index, count: int) -> Pages:
    """The first `count` pages of set 0, in the fewest directories."""
    vectors = list(index.kernel)[: max(0, (count - 1).bit_length())]
    pages = span(vectors)
    if pages.size < count:
        raise Unknown(f"{count} pages of one set are more than can be walked over")
    return pages[:count]


def ways_of(meter: Meter, groups: Groups, index: Index) -> Ways:
    """By bisection between what fits and what does not."""
    fits, overflows = 1 << len(groups.block.fitting), 2 << len(groups.block.fitting)
    settled = _cost(meter, groups, index, fits)
    walk = _cost(meter, groups, index, MANY * overflows) - settled
    if walk <= 0:
        raise Unknown("a walk over many pages of a set is not slower than over few")

    def misses(count: int) -> float:
        """Per pass and set."""
        return (_cost(meter, groups, index, count, settled) - settled) / walk * count

    least = _most(fits, overflows, lambda count: misses(count) < SETTLED)
    if misses(least + 1) > ALL_MISS * (least + 1):
        return Ways(least, least, walk)
    most = _most(least + 1, overflows, lambda count: misses(count) < FEW * count)
    return Ways(least, most, walk)


def _most(true: int, false: int, holds: Callable[[int], bool]) -> int:
    """The largest number for which something holds, between one for which it does and one not."""
    while false - true > 1:
        middle = (true + false) // 2
        true, false = (middle, false) if holds(middle) else (true, middle)
    return true


def _cost(meter: Meter, groups: Groups, index: Index, count: int, enough: float = 0.0) -> float:
    """The least of several draws of sets."""
    pages = mates(index, count)
    return min(meter.cost(sums(groups.starts(), pages), enough) for _ in range(DRAWS))

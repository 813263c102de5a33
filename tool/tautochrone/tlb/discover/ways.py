"""How many entries a set has: the most pages of one set that settle.

docs/spec/discover.md, [DISC-15], [DISC-16].
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tautochrone.tlb.discover.index import Groups, Index
from tautochrone.tlb.discover.linear import span, sums
from tautochrone.tlb.discover.meter import Meter, middle_mean
from tautochrone.tlb.discover.processors.oracle import Pages, Unknown, pages_of

DRAWS = 4  # Random sets for each number of pages.
SETTLED = 0.3  # Misses per pass and set.
ALL_MISS = 0.9  # The fraction of pages that miss.
FEW = 0.25  # So few of the pages may evict each other in a set that has room.
MANY = 4  # Times what overflows a set: all of it misses, whatever the replacement policy.


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


FRONT_MULTIPLE = 2  # Multiple of the pages that overflow the level in front.
TRIALS = 7
LOW = 0.25  # The quantile of trials that counts: what disturbs a trial only ever adds ticks.


@dataclass(frozen=True)
class Level:
    """A level as known so far. `front_pages` overflow the level in front of it (0: none).

    `live` pages of a set are victims: they fit for sure.
    """

    groups: Groups
    index: Index
    ways: Ways
    front_pages: int

    @property
    def live(self) -> int:
        """Pages of a set that fit."""
        return 1 << len(self.groups.block.fitting)

    def pages_in(self, number: int, count: int) -> Pages:
        """Pages of a set."""
        return mates(self.index, count) ^ np.uint64(self.index.page_in(number))

    @cached_property
    def _pages_of_sets(self) -> Pages:
        """[set]: pages of each set, as many as fit."""
        starts = pages_of([self.index.page_in(number) for number in range(self.index.sets)])
        return starts[:, None] ^ mates(self.index, self.live)[None, :]

    def flushers(self, used: Iterable[int], more: int = 0) -> Pages:
        """Pages of other sets, few in each, that overflow the level in front, and some more."""
        wanted = FRONT_MULTIPLE * self.front_pages + more
        others = np.ones(self.index.sets, np.bool_)
        others[list(used)] = False
        count = int(others.sum())
        if not wanted or not count:
            if self.front_pages:
                raise Unknown("there are too few sets to overflow the level in front with others")
            return pages_of([])
        pages = self._pages_of_sets[others][:, : -(-wanted // count)]
        return self.groups.dice.permutation(pages.ravel())[:wanted]


def pass_ticks(
    meter: Meter, level: Level, number: int, others: Pages, trials: int = TRIALS
) -> list[float]:
    """Ticks of passes over the victims of a set, each after `others` and then flushers."""
    victims = level.pages_in(number, level.live)
    dice = level.groups.dice
    flushers = level.flushers({*level.index.sets_of(others).tolist(), number})
    meter.after(pages_of([]), victims)
    ticks = []
    for _ in range(trials):
        before = np.concatenate([dice.permutation(others), dice.permutation(flushers)])
        ticks.append(meter.after(before, dice.permutation(victims)))
    return ticks


def low(ticks: list[float]) -> float:
    """The quantile that counts."""
    return float(np.quantile(ticks, LOW))


SETS = 16  # That are tried at a time, or more if the level in front needs it.
SEARCHES = 3
SAFE_TRIALS, TRIALS_EXACT, CHEAP_MULTIPLE = 40, 12, 4
CHEAP = 4  # Accesses: what a miss costs at most to be tried more often.
OTHERS_MULTIPLE = 2  # A set is filled with this multiple of its ways.
ALREADY_IN = (0.0, 0.5)  # Which part of the live pages is among them.
SETTLING = 6  # Passes over the live pages, after which they are settled.
UNSAFE = 0.03  # Misses of a second pass, per set.
SHARED_PART = 2 / 3  # Under an operating system, no more of the ways are reported as safe.


@dataclass(frozen=True)
class SafeWays:
    """`count` live pages are safe; `observed` never missed, and `misses` per set and second pass
    were seen with one page more (None: there are no more ways)."""

    count: int
    observed: int
    misses: float | None


def safe_ways_of(meter: Meter, level: Level) -> SafeWays:
    """The median of some searches, if others share the processor.

    If not all ways are safe, the states that evict may be rarer than the trials. Then no more than
    a tree PLRU keeps is said to be safe.
    """
    is_shared = meter.oracle.facts.is_shared
    found = sorted(_search(meter, level) for _ in range(SEARCHES if is_shared else 1))
    safe, misses = found[len(found) // 2]
    ways = level.ways.least
    count = safe if safe == ways else min(safe, (ways - 1).bit_length() + 1)
    if is_shared:
        count = min(count, max(1, int(ways * SHARED_PART)))
    return SafeWays(count, safe, misses or None)


def _search(meter: Meter, level: Level) -> tuple[int, float]:
    """By bisection, up to the ways that are sure: so many are safe, and the misses of one more."""
    safe, unsafe, misses = 1, level.ways.least + 1, 0.0
    while unsafe - safe > 1:
        middle = (safe + unsafe) // 2
        found = max(_misses(meter, level, middle, part) for part in ALREADY_IN)
        if found < UNSAFE:
            safe = middle
        else:
            unsafe, misses = middle, found
    return safe, misses


def _misses(meter: Meter, level: Level, live: int, part: float) -> float:
    """Misses of the second pass per set, in random sets."""
    groups, dice = level.groups, level.groups.dice
    sets = min(1 << len(groups.block.bits), max(SETS, FRONT_MULTIPLE * level.front_pages // live))
    same = mates(level.index, live + OTHERS_MULTIPLE * level.ways.most)
    nothing = pages_of([])
    ticks: list[tuple[float, float]] = []
    trials = SAFE_TRIALS if level.ways.walk > CHEAP * meter.access else TRIALS * CHEAP_MULTIPLE
    trials = TRIALS_EXACT if meter.oracle.facts.is_exact else trials
    for _ in range(trials):
        every = dice.permuted(groups.starts(sets)[:, None] ^ same[None, :], axis=1)
        mine, others = dice.permutation(every[:, :live].ravel()), every[:, live:].ravel()
        some = mine[dice.random(mine.size) < part]
        meter.after(dice.permutation(np.concatenate([others, some])), mine)
        second = meter.after(nothing, mine)
        for _ in range(SETTLING):
            meter.after(nothing, dice.permutation(mine))
        meter.after(nothing, mine)
        ticks.append((second, meter.after(nothing, mine)))
    second, settled = (middle_mean([each[place] for each in ticks]) for place in (0, 1))
    return (second - settled) / level.ways.walk / sets

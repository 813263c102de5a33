"""How many live pages of a set never evict each other, whatever else was in it.

docs/spec/discover.md, [DISC-22]. Sets are filled with other pages and some of the live ones, in a
random order. Then the live ones are walked over once, and once more. If they are safe, none misses
the second time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tautochrone.tlb.discover.meter import Meter, middle_mean
from tautochrone.tlb.discover.processors.oracle import pages_of
from tautochrone.tlb.discover.victims import Level
from tautochrone.tlb.discover.ways import mates

SETS = 16  # that are tried at a time, or more if the level in front needs it
FRONT_MULTIPLE = 2
SEARCHES = 3
TRIALS, TRIALS_EXACT, CHEAP_MULTIPLE = 40, 12, 4
CHEAP = 4  # accesses: what a miss costs at most to be tried more often
OTHERS_MULTIPLE = 2  # of the ways: pages that a set is filled with
ALREADY_IN = (0.0, 0.5)  # which part of the live pages is among them
SETTLING = 6  # passes over the live pages, after which they are settled
UNSAFE = 0.03  # misses of a second pass, per set
SHARED_PART = 2 / 3  # of the ways: with an operating system beside it, no more is said to be safe


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
    trials = TRIALS if level.ways.walk > CHEAP * meter.access else TRIALS * CHEAP_MULTIPLE
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

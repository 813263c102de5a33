"""The last check: what an attacker costs a victim, in the victim's set and in another one.

docs/spec/discover.md, [DISC-23].
"""

from dataclasses import dataclass

import numpy as np

from tautochrone.tlb.discover.directories.search import Sharing
from tautochrone.tlb.discover.meter import Meter, low_mean
from tautochrone.tlb.discover.processors.oracle import Pages, Unknown, pages_of
from tautochrone.tlb.discover.ways import Level

TRIES = 8
ROUNDS, ROUNDS_EXACT = 32, 6  # of passes of three kinds, one after another
SETTLING = 8  # passes of the victims before each attack
ATTACKERS = 3  # times the victims
ELSEWHERE_WALKS_MAX, SAME_RATIO_MIN = 0.5, 1.8


@dataclass(frozen=True)
class Isolation:
    """A victim's pass, undisturbed and with an attacker. `tries`: the last one of so many."""

    elsewhere_walks: float
    same_ratio: float
    tries: int

    @property
    def is_passed(self) -> bool:
        """Whether the index isolates, and the attack is one."""
        return self.elsewhere_walks < ELSEWHERE_WALKS_MAX and self.same_ratio >= SAME_RATIO_MIN


def isolation_of(meter: Meter, level: Level, sharing: Sharing) -> Isolation:
    """Several tries, until one passes: a neighbor only makes them fail."""
    for tries in range(1, TRIES + 1):
        found = _try(meter, level, sharing, tries)
        if found.is_passed:
            break
    return found


def _try(meter: Meter, level: Level, sharing: Sharing, tries: int) -> Isolation:
    dice, sets = level.groups.dice, level.index.sets
    number = int(dice.integers(sets))
    victims = level.pages_in(number, level.live)
    count = ATTACKERS * level.live
    same = level.pages_in(number, level.live + count)[level.live :]
    apart = (
        each
        for each in dice.permutation(sets).tolist()
        if each != number and number not in _directory_sets(level.pages_in(each, count), sharing)
    )
    other = next(apart, None)
    if other is None:
        raise Unknown(f"directories of every other set's pages are in set {number}")
    elsewhere = level.pages_in(other, count)
    flushers = level.flushers({number, other}, count)
    # As many pages in each case, so that the data cache makes no difference.
    kinds = (flushers[:count], elsewhere, same)
    ticks: list[list[float]] = [[], [], []]
    for _ in range(ROUNDS_EXACT if meter.oracle.facts.is_exact else ROUNDS):
        for kind in dice.permutation(len(kinds)):
            for _ in range(SETTLING):
                meter.after(pages_of([]), dice.permutation(victims))
            others = dice.permutation(kinds[kind]), dice.permutation(flushers[count:])
            before = np.concatenate(others)
            ticks[kind].append(meter.after(before, dice.permutation(victims)))
    alone, away, struck = map(low_mean, ticks)
    return Isolation((away - alone) / level.ways.walk, struck / max(alone, 1.0), tries)


def _directory_sets(pages: Pages, sharing: Sharing) -> set[int]:
    """Where entries of their directories go."""
    if not sharing.rows:
        return set()
    return {
        sharing.constant
        ^ sum((int(page) & row).bit_count() % 2 << bit for bit, row in enumerate(sharing.rows))
        for page in pages
    }

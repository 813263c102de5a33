"""What others do to pages of a set: time one pass over them, right after others were walked over.

docs/spec/discover.md, [DISC-17].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tautochrone.tlb.discover.groups import Groups
from tautochrone.tlb.discover.index import Index
from tautochrone.tlb.discover.meter import Meter
from tautochrone.tlb.discover.processors.oracle import Pages, Unknown, pages_of
from tautochrone.tlb.discover.ways import Ways, mates

FRONT_MULTIPLE = 2  # of the pages that overflow the level in front
TRIALS = 7
LOW = 0.25  # the quantile of trials that counts: what disturbs a trial only ever adds ticks


@dataclass(frozen=True)
class Level:
    """What is known of a level. `front_pages` overflow the one in front of it (0: there is none).

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

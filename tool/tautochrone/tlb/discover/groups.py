"""Walks over groups of pages in several sets at once.

docs/spec/discover.md, [DISC-11]. A group is pages of one set. It is walked over in several sets,
so that the walk overflows the level in front, which would otherwise answer. The sets are chosen at
random from those that the block tells apart: few of them differ by any one vector.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tautochrone.tlb.discover.linear import span, sums
from tautochrone.tlb.discover.meter import Meter, Scale, conflicts
from tautochrone.tlb.discover.processors.oracle import Pages, Unknown
from tautochrone.tlb.discover.sets import Block

FRONT_MULTIPLE = 2  # of the pages that overflow the level in front
SEPARATE, SEPARATE_EXACT = 0.2, 0.05  # of what a fit costs: a conflict costs at least that more


@dataclass(frozen=True)
class Groups:
    """How many groups overflow the level in front, and the costs that decide conflicts of one."""

    block: Block
    count: int
    scale: Scale
    dice: np.random.Generator

    def starts(self, count: int | None = None) -> Pages:
        """A page in each of some sets, drawn anew."""
        every = span([1 << bit for bit in self.block.bits])
        return self.dice.choice(every, min(count or self.count, every.size), replace=False)

    def join(self, meter: Meter, difference: int) -> tuple[bool, float]:
        """Whether pages that differ by `difference` share a set, and the place on the scale."""
        vectors = [*self.block.fitting, difference]
        return conflicts(meter, lambda: sums(self.starts(), span(vectors)), self.scale)


def groups_of(meter: Meter, block: Block, front_pages: int, seed: int) -> Groups:
    """Groups behind a level in front that `front_pages` overflow (0: there is none).

    The scale is that of two vectors which the block knows: one in its kernel, one not. Raises
    Unknown if they cannot be told apart.
    """
    size = 2 << len(block.fitting)
    wanted = max(1, FRONT_MULTIPLE * front_pages // size)
    count = min(wanted, 1 << len(block.bits))
    groups = Groups(block, count, Scale(0.0, 1.0), np.random.default_rng(seed))
    conflict = meter.cost(sums(groups.starts(), span(block.kernel)))
    fit = meter.cost(_apart(groups))
    separate = SEPARATE_EXACT if meter.oracle.facts.is_exact else SEPARATE
    if conflict < (1 + separate) * fit:
        raise Unknown(f"{size} pages of one set cost {conflict:.2f} an access, others {fit:.2f}")
    return Groups(block, count, Scale(fit, conflict), groups.dice)


def _apart(groups: Groups) -> Pages:
    """As many pages as a conflict's, in groups that fit: in twice as many sets, if there are."""
    fitting = span(groups.block.fitting)
    return sums(groups.starts(2 * groups.count), fitting)

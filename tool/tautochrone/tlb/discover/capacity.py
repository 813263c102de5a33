"""How many levels there are, and how many pages in a row each holds, from the costs of blocks.

docs/spec/discover.md, [DISC-5] ... [DISC-7].
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tautochrone.tlb.discover.linear import span
from tautochrone.tlb.discover.meter import Meter, Scale
from tautochrone.tlb.discover.processors.oracle import Facts, Unknown

LEVELS_MAX = 2
CURVES = 3  # measured one after another; the least cost counts
RISE_LEAST, RISE_LEAST_EXACT = 0.25, 0.05  # of an access: less is not a level
DEEPER = 1.5  # a deeper level adds more than this multiple of all before it


@dataclass(frozen=True)
class Level:
    """A level of the TLB. 2^`block_log2` pages in a row are the first power of two that does not
    fit. `scale`: costs of half of that and of all of it."""

    number: int
    block_log2: int
    scale: Scale


@dataclass(frozen=True)
class Curve:
    """Ticks per access of 2^k pages in a row, and of as many lines in pages that fit."""

    costs: tuple[float, ...]
    baseline: tuple[float, ...]

    def excess(self, exponent: int) -> float:
        """What translations cost."""
        return self.costs[exponent] - self.baseline[exponent]


def block(exponent: int) -> list[int]:
    """The vectors of 2^exponent pages in a row."""
    return [1 << bit for bit in range(exponent)]


def curve_of(meter: Meter) -> Curve:
    """The costs of 1, 2, 4 ... pages in a row. Raises Unknown if none fit and others do not.

    That a walk over many pages is slower than one over few is the positive control of all else.
    """
    facts = meter.oracle.facts
    end = min(facts.block_log2_max, facts.page_bits) + 1
    curves = 1 if facts.is_exact else CURVES
    turns = [[meter.cost(span(block(each))) for each in range(end)] for _ in range(curves)]
    costs = tuple(map(min, zip(*turns, strict=True)))
    if min(costs) <= 0:
        raise Unknown("the clock stands still: a walk over pages takes no time")
    meter.access = costs[0]
    rises = [each for each in range(1, end) if costs[each] > (1 + _rise_least(facts)) * costs[0]]
    if not rises:
        raise Unknown(
            f"a walk over {1 << (end - 1)} pages is as fast as one over few: no TLB is visible"
        )
    fitting = 1 << (rises[0] - 1)
    oracle = meter.oracle
    return Curve(costs, tuple(oracle.baseline(1 << each, fitting) for each in range(end)))


def _rise_least(facts: Facts) -> float:
    return RISE_LEAST_EXACT if facts.is_exact else RISE_LEAST


def levels_of(curve: Curve, facts: Facts) -> list[Level]:
    """The levels, the first one in front. Raises Unknown if there is none."""
    least = _rise_least(facts) * curve.costs[0]
    found: list[Level] = []
    before = 0.0
    for exponent in range(1, len(curve.costs)):
        excess = curve.excess(exponent) - curve.excess(0)
        if excess - before > max(least, DEEPER * before) and len(found) < LEVELS_MAX:
            scale = Scale(curve.costs[exponent - 1], curve.costs[exponent])
            found.append(Level(len(found), exponent, scale))
        before = max(before, excess)
    if not found:
        raise Unknown("costs rise with the number of pages, but no more than the data cache says")
    return found


def measured_again(meter: Meter, level: Level) -> Level:
    """The level with its scale as it is now, or was if that was less disturbed."""
    half, full = (meter.cost(span(block(level.block_log2 - each))) for each in (1, 0))
    scale = Scale(min(half, level.scale.fits), min(full, level.scale.conflicts))
    return replace(level, scale=scale)

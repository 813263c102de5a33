"""Which pages of a block share a set: the part of the index's kernel that the block shows.

docs/spec/discover.md, [DISC-8] ... [DISC-10]. A block of 2^m pages in a row is the first that does
not fit a level. Take half of its pages, a hyperplane. They do not fit either if and only if the
hyperplane has all of the block's kernel. So masks that the kernel is orthogonal to are found one by
one; the vectors orthogonal to all of them are the kernel.
"""

import itertools
from dataclasses import dataclass, replace

from tautochrone.tlb.discover.linear import annihilator, reduced, span
from tautochrone.tlb.discover.meter import Meter, Scale, conflicts
from tautochrone.tlb.discover.processors.oracle import Facts, Unknown

LEVELS_MAX = 2
CURVES = 3  # Measured one after another; the least cost counts.
RISE_LEAST, RISE_LEAST_EXACT = 0.25, 0.05  # Per access. A smaller rise is not a level.
DEEPER = 1.5  # A deeper level adds more than this multiple of all before it.


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
    """The levels, starting with the first. Raises Unknown if there is none."""
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


CLASSES_MAX = 8  # All masks of so many classes are tried.


@dataclass(frozen=True)
class Block:
    """A block's kernel, reduced, and the bits that tell its sets apart.

    One vector of the kernel less fits into a set; all of them do not.
    """

    level: Level
    kernel: tuple[int, ...]
    bits: tuple[int, ...]

    @property
    def fitting(self) -> tuple[int, ...]:
        """A part of the kernel whose pages fit into one set, and are more than half of its ways."""
        return self.kernel[:-1]


def block_of(meter: Meter, level: Level) -> Block:
    """The kernel of a level's block. Raises Unknown."""
    bits, scale = level.block_log2, level.scale
    if scale.conflicts <= scale.fits:
        raise Unknown(
            f"{1 << bits} pages cost {scale.conflicts:.2f} an access, half of them {scale.fits:.2f}"
        )
    masks = [1 << bit for bit in range(bits) if _holds_kernel(meter, level, [1 << bit])]
    used = [bit for bit in range(bits) if 1 << bit not in masks]
    leaders: list[int] = []
    for bit in used:
        ties = (1 << bit | 1 << leader for leader in leaders)
        tie = next((each for each in ties if _holds_kernel(meter, level, [each])), None)
        if tie is None:
            leaders.append(bit)
        else:
            masks.append(tie)
    if len(leaders) > CLASSES_MAX:
        raise Unknown(f"{len(leaders)} independent bits in the conflicts of {1 << bits} pages")
    for size in range(3, len(leaders) + 1):
        for chosen in itertools.combinations(leaders, size):
            mask = sum(1 << bit for bit in chosen)
            if _holds_kernel(meter, level, [mask]):
                masks.append(mask)
    kernel = annihilator(masks, bits)
    if not kernel:
        raise Unknown(f"{1 << bits} pages do not fit, but no bit of their numbers matters")
    if masks and not _holds_kernel(meter, level, masks[-1:]):
        raise Unknown("a walk over half of a block fits once and does not fit another time")
    basis = reduced(kernel)
    tops = {each.bit_length() - 1 for each in basis}
    return Block(level, tuple(basis), tuple(bit for bit in range(bits) if bit not in tops))


def _holds_kernel(meter: Meter, level: Level, masks: list[int]) -> bool:
    """Whether the pages of the block whose parity under each mask is 0 still do not fit."""
    vectors = annihilator(masks, level.block_log2)
    return conflicts(meter, span(vectors), level.scale)[0]

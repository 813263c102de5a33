"""Hold-out checks of an index: differences that no step before has asked for.

docs/spec/discover.md, [DISC-14].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tautochrone.tlb.discover.index import Groups, Index
from tautochrone.tlb.discover.linear import is_in, lowest
from tautochrone.tlb.discover.meter import Meter
from tautochrone.tlb.discover.processors.oracle import Pages, Unknown, pages_of

DIFFERENCES = 20  # for each kind
TRIES = 3  # each is tried so often: a neighbor may disturb one
DRAWS = 16


@dataclass(frozen=True)
class Check:
    """How often something was asked, and how often the answer was right.

    `margin`: how far the nearest answer was from the middle between fits (−0.5) and conflicts.
    """

    name: str
    right: int
    count: int
    margin: float

    @property
    def is_passed(self) -> bool:
        """Whether every answer was right."""
        return self.right == self.count


def checks_of(meter: Meter, groups: Groups, index: Index) -> list[Check]:
    """Differences in the kernel, which also say that it is closed under sums; such that change one
    bit of the index; and any others."""
    high = groups.block.level.block_log2
    every = [1 << bit for bit in range(meter.oracle.facts.page_bits)]
    near = [lowest(row) for row in index.rows]

    def draw(vectors: Sequence[int]) -> int:
        found = 0
        for vector in vectors:
            found ^= vector if groups.dice.random() < 0.5 else 0
        return found

    def drawn(vectors: Sequence[int], offsets: Sequence[int], is_same: bool) -> list[int]:
        """Differences that reach beyond the block, and are of a kernel or are not."""
        many = (draw(vectors) ^ each for _ in range(DRAWS) for each in offsets)
        kernel = index.kernel
        return [e for e in many if e >> high and is_in(e, kernel) == is_same][:DIFFERENCES]

    zeros = [0] * DIFFERENCES
    near = near * -(-DIFFERENCES // max(1, len(near)))
    kinds = (
        ("pages of one set", True, drawn(index.kernel, zeros, True)),
        ("sets that differ in one bit", False, drawn(index.kernel, near, False)),
        ("any other sets", False, drawn(every, zeros, False)),
    )
    return [_check(meter, groups, *kind) for kind in kinds if kind[2]]


def _check(
    meter: Meter, groups: Groups, name: str, expected: bool, differences: list[int]
) -> Check:
    right, margin = 0, 0.5
    for difference in differences:
        for _ in range(TRIES):
            try:
                found, place = groups.join(meter, difference)
            except Unknown:
                continue
            if found == expected:
                right += 1
                margin = min(margin, abs(place - 0.5))
                break
    return Check(name, right, len(differences), margin)


MOST = 0.4  # fraction that misses: policies other than LRU keep some. In two sets all would fit
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

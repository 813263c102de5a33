"""The index of a level: for each bit of a page number, which other bits change the set alike.

docs/spec/discover.md, [DISC-12], [DISC-13].
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tautochrone.tlb.discover.linear import annihilator, lowest, reduced, span, sums
from tautochrone.tlb.discover.meter import Meter, Scale, conflicts
from tautochrone.tlb.discover.processors.oracle import Pages, Unknown
from tautochrone.tlb.discover.sets import Block

FRONT_MULTIPLE = 2  # multiple of the pages that overflow the level in front
SEPARATE, SEPARATE_EXACT = 0.2, 0.05  # a conflict costs at least this fraction more than a fit


@dataclass(frozen=True)
class Groups:
    """How many groups overflow the level in front, and the costs that decide conflicts of one."""

    block: Block
    count: int
    scale: Scale
    dice: np.random.Generator

    def starts(self, count: int | None = None) -> Pages:
        """A page in each of some sets, drawn again."""
        every = span([1 << bit for bit in self.block.bits])
        return self.dice.choice(every, min(count or self.count, every.size), replace=False)

    def join(self, meter: Meter, difference: int) -> tuple[bool, float]:
        """Whether pages that differ by `difference` share a set, and the place on the scale."""
        vectors = [*self.block.fitting, difference]
        return conflicts(meter, lambda: sums(self.starts(), span(vectors)), self.scale)


def groups_of(meter: Meter, block: Block, front_pages: int, seed: int) -> Groups:
    """Groups behind a level in front that `front_pages` overflow (0: there is none).

    Two vectors that the block knows give the scale: one in its kernel, one not. Raises
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


@dataclass(frozen=True)
class Index:
    """Rows are masks of page numbers; `kernel` is their orthogonal space, reduced.

    The lowest bit of a row is in no other row.
    """

    rows: tuple[int, ...]
    kernel: tuple[int, ...]

    @property
    def sets(self) -> int:
        """How many."""
        return 1 << len(self.rows)

    def of(self, page: int) -> int:
        """The set of a page."""
        return sum((page & row).bit_count() % 2 << bit for bit, row in enumerate(self.rows))

    def sets_of(self, pages: Pages) -> npt.NDArray[np.int64]:
        """The set of each page."""
        found = np.zeros(pages.size, np.int64)
        for bit, row in enumerate(self.rows):
            found |= (np.bitwise_count(pages & np.uint64(row)).astype(np.int64) & 1) << bit
        return found

    def page_in(self, number: int) -> int:
        """The lowest page of a set."""
        return sum(lowest(row) for bit, row in enumerate(self.rows) if number >> bit & 1)


def index_of(meter: Meter, groups: Groups) -> Index:
    """The index, from the block's up to the highest bit that can be walked over."""
    bits = meter.oracle.facts.page_bits
    kernel = list(groups.block.kernel)
    apart = list(groups.block.bits)
    for bit in range(groups.block.level.block_log2, bits):
        relation = _relation(meter, groups, apart, bit)
        if relation is None:
            apart.append(bit)
        else:
            kernel.append(1 << bit | relation)
    return Index(tuple(annihilator(kernel, bits)), tuple(reduced(kernel)))


def _relation(meter: Meter, groups: Groups, apart: list[int], bit: int) -> int | None:
    """The sum of bits in `apart` that changes the set as `bit` does; None if none does."""
    for other in (0, *(1 << each for each in apart)):
        if groups.join(meter, 1 << bit | other)[0]:
            return other
    if not _depends(meter, groups, apart, bit):
        return None
    support = [
        each
        for each in apart
        if not _depends(meter, groups, [other for other in apart if other != each], bit)
    ]
    relation = sum(1 << each for each in support)
    if not groups.join(meter, 1 << bit | relation)[0]:
        raise Unknown(f"bit {bit} of page numbers: no sum of other bits changes the set alike")
    return relation


def _depends(meter: Meter, groups: Groups, apart: list[int], bit: int) -> bool:
    """Whether `bit` changes the set as some sum of `apart` does.

    Then pages in all sets that `apart` tells apart and their partners do not fit.
    """
    block = groups.block
    vectors = [1 << each for each in (*apart, bit)]
    pages = sums(span(vectors), span(block.fitting))
    return conflicts(meter, pages, block.level.scale)[0]

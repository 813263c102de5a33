"""The index of a level: for each bit of a page number, which other bits change the set alike.

docs/spec/discover.md, [DISC-12], [DISC-13].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tautochrone.tlb.discover.groups import Groups
from tautochrone.tlb.discover.linear import annihilator, lowest, reduced, span, sums
from tautochrone.tlb.discover.meter import Meter, conflicts
from tautochrone.tlb.discover.processors.oracle import Pages, Unknown


@dataclass(frozen=True)
class Index:
    """Rows are masks of page numbers; `kernel` is what they are orthogonal to, reduced.

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

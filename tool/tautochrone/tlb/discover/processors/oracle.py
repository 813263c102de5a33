"""What discovery asks of a processor, real or simulated: how long walks over lists of pages take.

docs/spec/discover.md, [DISC-1] ... [DISC-4]. A page is a number; what the numbers differ in is all
that counts, since an oracle may add a start of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Pages = npt.NDArray[np.uint64]
Ticks = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Facts:
    """The facts of a processor that need no measurement.

    `page_bits`: of page numbers that can be walked over. `directory_bits`: log2 of the pages below
    an entry of a page directory; None if its page table has one level. `is_shared`: an operating
    system or others run on the same processor meanwhile. `is_exact`: nothing disturbs its clock, so
    little has to be repeated. `block_log2_max`: of blocks that are worth walking over. `notes`:
    what limits the result.
    """

    name: str
    page_bytes: int
    page_bits: int
    directory_bits: int | None
    unit: str
    is_shared: bool
    notes: tuple[str, ...] = ()
    is_exact: bool = False
    block_log2_max: int = 13


class Oracle(Protocol):
    """A processor."""

    facts: Facts

    def walk(self, pages: Pages, shuffles: int) -> Ticks:
        """Ticks per access of some bursts of passes over `pages`, in `shuffles` random orders.

        Before the bursts of each order there are passes that are not timed.
        """

    def after(self, before: Pages, pages: Pages) -> float:
        """Ticks of one pass over `pages`, right after one over `before`, both in this order."""

    def baseline(self, count: int, fitting: int) -> float:
        """Ticks per access of a walk over `count` pages if their translations were free.

        `fitting` pages in a row fit the first level.
        """


class Unknown(Exception):
    """Why a value is unknown, in words."""


def pages_of(numbers: Sequence[int] | Pages) -> Pages:
    """An array of page numbers."""
    return np.ascontiguousarray(numbers, np.uint64)

"""Golden models of the initialization-free array and of the pages validity array with its cache.

`InitializationFreeArray` is the paper's section II-C1 read literally [P0-13]. `PagesValidity` is
section IV-A: an array of the same kind per region, all in one set of global arrays, and the virtual
regions cache [P0-15, P0-22]. Both start on whatever their memory holds. Cost: constant a step, as
in the paper; nothing here is clever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class InitializationFreeArray:
    """An array of SIZE entries that are all `None` until written, on memory full of anything.

    GARBAGE(name, index) is what the arrays "data", "helper", "stack" hold at first.
    """

    def __init__(self, size: int, garbage: Callable[[str, int], int]) -> None:
        """Initializes sp, nothing else."""
        self.size = size
        self.data: list[object] = [garbage("data", i) for i in range(size)]
        self.helper = [garbage("helper", i) for i in range(size)]
        self.stack = [garbage("stack", i) for i in range(size)]
        self.sp = -1

    def is_written(self, index: int) -> bool:
        """Whether the stack vouches for INDEX. Raises IndexError outside the array."""
        place = self.helper[index]
        return 0 <= place <= self.sp and self.stack[place] == index

    def read(self, index: int) -> object:
        """d[INDEX], None if it was not written since the last `clear`."""
        return self.data[index] if self.is_written(index) else None

    def write(self, index: int, value: object) -> None:
        """d[INDEX] := VALUE."""
        if not self.is_written(index):
            self.sp += 1
            self.helper[index] = self.sp
            self.stack[self.sp] = index
        self.data[index] = value

    def clear(self) -> None:
        """All entries become None, in one step."""
        self.sp = -1


@dataclass
class PagesValidity:
    """The arrays of one address space, of `pages_count` entries each.

    What `cache`, `helper`, `stack` and `frame` hold at first may be any numbers; `sp` is all 0
    [P0-25, P0-26]. A stack of the region that starts at a holds places a ... sp[a].
    """

    pages_count: int
    cache: list[int]
    helper: list[int]
    stack: list[int]
    frame: list[int]

    def __post_init__(self) -> None:
        """The only initialization."""
        self.sp = [0] * self.pages_count

    def case(self, page: int) -> str:
        """Which case of Lemma 1 a look at PAGE falls into, "mapped" apart.

        2.2.1 and 2.2.2 differ in whether the cached start's stack could hold PAGE, which only the
        region tree knows; "2.2" is both.
        """
        start = self.cache[page]
        if start == 0 or start > page:
            return "1"
        if self.sp[start] < start:
            return "2.1"
        return "mapped" if self.lookup(page) is not None else "2.2"

    def is_mapped(self, start: int, page: int) -> bool:
        """Whether PAGE of the region that starts at START is mapped [P0-11]."""
        place = self.helper[page]
        return start <= place <= self.sp[start] and self.stack[place] == page

    def lookup(self, page: int) -> int | None:
        """What the MMU finds: PAGE's frame or None. The region tree is not asked."""
        start = self.cache[page]
        if start == 0 or start > page:
            return None
        return self.frame[page] if self.is_mapped(start, page) else None

    def clear(self, start: int) -> None:
        """mapVRH's and unmapRegion's part: no page of the region is mapped any more."""
        self.sp[start] = start - 1

    def map_page(self, start: int, page: int, frame: int) -> None:
        """mapPage's part, for a page of the region at START that is not mapped."""
        self.sp[start] += 1
        self.cache[page] = start
        self.helper[page] = self.sp[start]
        self.stack[self.sp[start]] = page
        self.frame[page] = frame

    def frames_newest_first(self, start: int) -> list[int]:
        """l[a]: the chain that unmapRegion gives back."""
        return [self.frame[self.stack[place]] for place in range(self.sp[start], start - 1, -1)]

"""Golden model of an address space: sets and dictionaries, no tables.

Written from the contract alone: which pages belong to which region, which frame is behind which
page, what each call answers. It knows no sp, no cache and no tree, so that tables and trees are
compared with their purpose. Every operation returns the C function's result: a status name. Cost:
proportional to the space.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from model.frames import Frames

READ, WRITE, EXECUTE = 1, 2, 4
RIGHTS = READ | WRITE | EXECUTE
PAGES_LOG2_MIN = 1


@dataclass
class Region:
    """Pages from `start` on. `mapped` maps pages to frames, the oldest mapping first."""

    start: int
    pages: int
    rights: int
    mapped: dict[int, int] = field(default_factory=dict)
    is_heap: bool = False
    first_page_only: bool = False  # a heap's: the rest is free memory


class Space:
    """2^PAGES_LOG2 pages whose faults take frames from POOL, all or none of them committed."""

    def __init__(
        self,
        pages_log2: int,
        pool: Frames,
        commits: bool = False,
        name: str = "space",
        pages_log2_max: int = 20,
    ) -> None:
        """Raises ValueError with the status's name for a size that is refused."""
        if pages_log2 < PAGES_LOG2_MIN:
            raise ValueError("SPACE_TOO_SMALL")
        if pages_log2 > pages_log2_max:
            raise ValueError("SPACE_TOO_LARGE")
        self.pages_count = 1 << pages_log2
        self.pool = pool
        self.name = name
        self.commit_max_pages = pool.free_count if commits else None
        self.regions: dict[int, Region] = {}

    # What there is

    @property
    def mapped(self) -> dict[int, int]:
        """Every mapped page and its frame."""
        return {
            page: frame for region in self.regions.values() for page, frame in region.mapped.items()
        }

    @property
    def committed_pages(self) -> int:
        """Pages of all regions."""
        return sum(region.pages for region in self.regions.values())

    def region_of(self, page: int) -> Region | None:
        """The region that PAGE belongs to, if any."""
        for region in self.regions.values():
            if region.start <= page < region.start + region.pages:
                return region
        return None

    def starts(self) -> list[int]:
        """Starts of all regions and of all runs of free pages between them, page 0's included."""
        is_used = [self.region_of(page) is not None for page in range(self.pages_count)]
        return [
            page
            for page in range(self.pages_count)
            if page in self.regions or (not is_used[page] and (page == 0 or is_used[page - 1]))
        ]

    def _outside(self, page: int) -> str | None:
        if page == 0:
            return "PAGE_ZERO"
        return "PAGE_OUTSIDE" if page >= self.pages_count else None

    # Operations

    def map_region(self, start: int, pages: int, rights: int) -> str:
        """As tau_vspace_map_region; of several reasons the first one counts [P0-8, G-2]."""
        if pages == 0 or rights & ~RIGHTS:
            return "BAD_ARGUMENT"
        if reason := self._outside(start):
            return reason
        if start + pages > self.pages_count:
            return "REGION_TOO_LARGE"
        if any(self.region_of(page) for page in range(start, start + pages)):
            return "REGION_OVERLAPS"
        if (
            self.commit_max_pages is not None
            and self.committed_pages + pages > self.commit_max_pages
        ):
            return "NOT_ADMITTED"
        self.regions[start] = Region(start, pages, rights)
        return "OK"

    def map_page(self, page: int, access: int) -> str:
        """As tau_vspace_map_page [P0-9]."""
        if reason := self._outside(page):
            return reason
        region = self.region_of(page)
        if region is None or (region.first_page_only and page != region.start):
            return "NOT_IN_REGION"
        if access & ~region.rights:
            return "ACCESS_DENIED"
        if page in region.mapped:
            return "PAGE_MAPPED"
        frame = self.pool.take()
        if frame is None:
            return "NO_FRAME"
        region.mapped[page] = frame
        return "OK"

    def unmap_region(self, start: int) -> str:
        """As tau_vspace_unmap_region [P0-10]."""
        if reason := self._outside(start):
            return reason
        if start not in self.regions:
            return "NOT_A_REGION"
        if self.regions[start].is_heap:
            return "REGION_IN_HEAP"
        region = self.regions.pop(start)
        self.pool.release(list(reversed(region.mapped.values())))
        return "OK"

    def translate(self, page: int, access: int) -> tuple[str, int | None]:
        """As tau_vspace_translate: the status, and the frame if there is one [P0-11]."""
        region = self.region_of(page)
        if region is None or page not in region.mapped:
            return "NOT_IN_REGION", None
        if access & ~region.rights:
            return "ACCESS_DENIED", None
        return "OK", region.mapped[page]

    def write(self, page: int) -> None:
        """A store to a mapped page: its frame holds this space's data now."""
        self.pool.machine.content[self.mapped[page]] = self.name

    def read(self, page: int) -> str | None:
        """Whose data a load from a mapped page sees: this space's own or None, zeroes."""
        return self.pool.machine.content[self.mapped[page]]

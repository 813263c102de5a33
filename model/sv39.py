"""Golden model of regions on Sv39 tables: docs/spec/sv39.md, in the most obvious way.

Written from SPEC alone, never from the C code. A space is a list of regions; a region's pages are
a dictionary from page to stored value. Tables are not modeled: only how many table
pages SPEC says are in use, so that exhaustion comes when it must. Frames have no numbers: which
frame backs a page cannot be seen through the page.

Operations answer a status name of core/status.h. Cost: proportional to the number of regions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SPACE_PAGES = 1 << 26
LARGE_PAGES = 1 << 18
SMALL_PAGES = 1 << 9
READ, WRITE, EXECUTE = 1, 2, 4
RIGHTS = (READ, READ | WRITE, EXECUTE, READ | EXECUTE, READ | WRITE | EXECUTE)


@dataclass
class Pools:
    """Free frames: pages and table pages, from one pool (`tables_free` None) or from two."""

    pages_free: int
    tables_free: int | None

    def lacking(self, pages: int, tables: int) -> str:
        """Return "OK" if PAGES pages and TABLES table pages can be taken, else the reason."""
        if self.pages_free < pages:
            return "NO_FRAME"
        if self.tables_free is not None:
            return "NO_TABLE" if tables and self.tables_free < tables else "OK"
        return "NO_TABLE" if tables and self.pages_free < pages + tables else "OK"

    def take(self, pages: int, tables: int) -> None:
        """Take them, or give them back if they are negative."""
        if self.tables_free is None:
            self.pages_free -= pages + tables
        else:
            self.pages_free -= pages
            self.tables_free -= tables


@dataclass
class Region:
    """Pages start … start + pages - 1; `content` has each mapped page: byte offset -> word."""

    start: int
    pages: int
    rights: int
    content: dict[int, dict[int, int]] = field(default_factory=dict)

    @property
    def is_small(self) -> bool:
        """Whether it lies within 2 MiB."""
        return self.start // SMALL_PAGES == (self.start + self.pages - 1) // SMALL_PAGES

    def holds(self, page: int) -> bool:
        """Whether PAGE belongs to it."""
        return self.start <= page < self.start + self.pages

    def slot(self) -> range:
        """The pages that no other region may touch."""
        size = SMALL_PAGES if self.is_small else LARGE_PAGES
        return range(self.start // size * size, (self.start // size + 1) * size)

    def parts(self) -> set[int]:
        """The 2 MiB parts in which a page is mapped."""
        return {page // SMALL_PAGES for page in self.content}

    def tables(self) -> int:
        """Separate table pages."""
        return 1 if self.is_small else 1 + len(self.parts())


class Space:
    """An address space whose pages and tables come from `pools`."""

    def __init__(self, pools: Pools) -> None:
        """Take the root. Raises ValueError if no table page is left for it."""
        self.pools = pools
        self.regions: list[Region] = []
        self.shared: set[int] = set()  # GiBs that have a shared table
        if pools.lacking(0, 1) != "OK":
            raise ValueError("no table page for the root")
        pools.take(0, 1)

    def region_at(self, page: int) -> Region | None:
        """Return the region that PAGE belongs to."""
        return next((region for region in self.regions if region.holds(page)), None)

    @property
    def mapped_pages(self) -> int:
        """Pages that have a frame."""
        return sum(len(region.content) for region in self.regions)

    def map_region(self, start: int, pages: int, rights: int) -> str:
        """Make a region."""
        if pages == 0 or rights not in RIGHTS:
            return "BAD_ARGUMENT"
        if start == 0:
            return "PAGE_ZERO"
        if start >= SPACE_PAGES:
            return "PAGE_OUTSIDE"
        if start // LARGE_PAGES != (start + pages - 1) // LARGE_PAGES:
            return "REGION_TOO_LARGE"
        region = Region(start, pages, rights)
        slot = region.slot()
        if any(
            slot.start < other.slot().stop and other.slot().start < slot.stop
            for other in self.regions
        ):
            return "REGION_OVERLAPS"
        gib = start // LARGE_PAGES
        # A shared table that is empty becomes the large region's own.
        tables = (gib not in self.shared) + region.is_small
        reason = self.pools.lacking(0, tables)
        if reason != "OK":
            return reason
        self.pools.take(0, tables)
        (self.shared.add if region.is_small else self.shared.discard)(gib)
        self.regions.append(region)
        return "OK"

    def map_page(self, page: int, access: int) -> str:
        """Handle a fault at PAGE."""
        if page == 0:
            return "PAGE_ZERO"
        if page >= SPACE_PAGES:
            return "PAGE_OUTSIDE"
        region = self.region_at(page)
        if region is None:
            return "NOT_IN_REGION"
        if access & ~region.rights:
            return "ACCESS_DENIED"
        if page in region.content:
            return "PAGE_MAPPED"
        tables = 0 if region.is_small or page // SMALL_PAGES in region.parts() else 1
        reason = self.pools.lacking(1, tables)
        if reason == "OK":
            self.pools.take(1, tables)
            region.content[page] = {}
        return reason

    def unmap_region(self, start: int) -> str:
        """Give a region back."""
        if start == 0:
            return "PAGE_ZERO"
        if start >= SPACE_PAGES:
            return "PAGE_OUTSIDE"
        region = self.region_at(start)
        if region is None or region.start != start:
            return "NOT_A_REGION"
        self.regions.remove(region)
        self.pools.take(-len(region.content), -region.tables())
        return "OK"

    def access(self, page: int, access: int) -> str:
        """Do what a program's access does: use the page if it is mapped, else fault."""
        region = self.region_at(page)
        if region is not None and page in region.content and not access & ~region.rights:
            return "OK"
        return self.map_page(page, access)

    def load(self, page: int, offset: int) -> tuple[str, int]:
        """Read the word at byte OFFSET of PAGE."""
        status = self.access(page, READ)
        region = self.region_at(page)
        if status != "OK" or region is None:
            return status, 0
        return status, region.content[page].get(offset, 0)

    def store(self, page: int, offset: int, value: int) -> str:
        """Write VALUE there."""
        status = self.access(page, WRITE)
        region = self.region_at(page)
        if status == "OK" and region is not None:
            region.content[page][offset] = value
        return status

    def close(self) -> None:
        """Give back everything."""
        for region in list(self.regions):
            self.unmap_region(region.start)
        self.pools.take(0, -1 - len(self.shared))
        self.shared.clear()

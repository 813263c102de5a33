"""Golden model of hierarchical tables: a space as in vspace.py, and which chunks need a record.

A chunk of 32 pages needs a record if a region, or a run of free pages, starts in it, or if one of
its pages is mapped; in a space that commits also if one of its pages belongs to a region. That is
all the model knows of tables. Cost: proportional to regions and mapped pages.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from model.frames import Frames
from model.vspace import RIGHTS, Space

CHUNK_PAGES = 32


@dataclass
class Tables:
    """A pool of records that the spaces in `spaces` share."""

    records_count: int
    spaces: list[HierarchicalSpace] = field(default_factory=list)

    @property
    def needed(self) -> int:
        """Records that chunks have, or that are kept for faults that must not fail."""
        return sum(len(space.chunks()) for space in self.spaces)


class HierarchicalSpace(Space):
    """2^PAGES_LOG2 pages whose faults take frames from POOL and records from TABLES."""

    def __init__(
        self, pages_log2: int, pool: Frames, tables: Tables, commits: bool = False
    ) -> None:
        """Raises ValueError with the status's name for a refusal."""
        super().__init__(pages_log2, pool, commits)
        if tables.needed == tables.records_count:
            raise ValueError("NO_TABLE")
        self.tables = tables
        tables.spaces.append(self)

    def close(self) -> str:
        """As tau_hierarchy_close."""
        if self.regions:
            return "BAD_ARGUMENT"
        self.tables.spaces.remove(self)
        return "OK"

    def chunks(self) -> set[int]:
        """The chunks that need a record."""
        pages = {0, *self.mapped}
        for region in self.regions.values():
            end = region.start + region.pages
            pages |= {region.start} | ({end} if end < self.pages_count else set())
            if self.commit_max_pages is not None:
                pages |= set(range(region.start, end))
        return {page // CHUNK_PAGES for page in pages}

    def map_region(self, start: int, pages: int, rights: int) -> str:
        """As tau_hierarchy_map_region: records are the last thing that can be missing [P0-7]."""
        status = super().map_region(start, pages, rights)
        if status == "OK" and self.tables.needed > self.tables.records_count:
            del self.regions[start]
            return "NO_TABLE"
        return status

    def map_page(self, page: int, access: int) -> str:
        """As tau_hierarchy_map_page: a missing record is reported before a missing frame."""
        region = self.region_of(page)
        if (
            region is not None
            and not access & ~region.rights & RIGHTS
            and page not in region.mapped
            and page // CHUNK_PAGES not in self.chunks()
            and self.tables.needed == self.tables.records_count
        ):
            return "NO_TABLE"
        return super().map_page(page, access)

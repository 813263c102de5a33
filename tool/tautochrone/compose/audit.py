"""What applications could reach, and what lay there, as the simulator saw it.

The records (hw/tile/doc/audit.md) come from the tile's host, so nothing here believes the kernel.
promises.py compares them with the system.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tautochrone.compose.pages import EXECUTE, READ, WRITE
from tautochrone.compose.system import SPECIAL
from tautochrone.facts import compose_format as facts
from tautochrone.facts import tile_format as tile

HEAD = struct.Struct("<2IQ4I")
ENTRY = struct.Struct("<2I")
TABLES_BYTES = 4 * facts.SIZE_TABLE_WORDS * facts.LIMIT_APPLICATIONS
VALID, PAGE_MASK, ORDER_MASK = 1 << 31, (1 << facts.PAGE_SHIFT_ORDER) - 1, 7
FRAME_MASK = 2 * SPECIAL - 1


@dataclass(frozen=True)
class Entry:
    """A valid entry of a table: a page of the window, and the frames that it is mapped to."""

    number: int
    address: int
    order: int
    frame: int
    rights: int

    @property
    def frames(self) -> range:
        """The frames, which may be devices."""
        return range(self.frame, self.frame + (1 << 2 * self.order))

    @property
    def is_memory(self) -> bool:
        """Whether it is mapped to memory of the tile."""
        return self.frame < SPECIAL


@dataclass(frozen=True)
class Snapshot:
    """All tables, and the pages of one application, in a cycle.

    `has_run`: a task of it ran, on any tile, since its table here was empty.
    """

    application: int
    cycle: int
    has_run: bool
    is_end: bool
    tables: bytes
    content: bytes

    def entries(self, application: int) -> list[Entry]:
        """The valid entries of an application."""
        table = 4 * facts.SIZE_TABLE_WORDS
        words = ENTRY.iter_unpack(self.tables[table * application : table * (application + 1)])
        return [
            Entry(
                number,
                tile.ADDRESS_WINDOW + (page & PAGE_MASK) * facts.SIZE_PAGE_BYTES_MIN,
                page >> facts.PAGE_SHIFT_ORDER & ORDER_MASK,
                rest & FRAME_MASK,
                rest >> facts.PAGE_SHIFT_RIGHTS & (READ | WRITE | EXECUTE),
            )
            for number, (page, rest) in enumerate(words)
            if page & VALID
        ]

    def pages(self) -> Iterator[tuple[Entry, bytes]]:
        """Each entry of the application that is mapped to memory, and its bytes."""
        place = 0
        for entry in self.entries(self.application):
            if entry.is_memory:
                size = facts.SIZE_PAGE_BYTES_MIN << 2 * entry.order
                yield entry, self.content[place : place + size]
                place += size


@dataclass(frozen=True)
class Audit:
    """A tile's snapshots by time, and hashes by application and cycle of a first instruction."""

    snapshots: tuple[Snapshot, ...] = ()
    hashes: Mapping[tuple[int, int], int] = field(default_factory=dict)

    @classmethod
    def read(cls, content: bytes) -> Audit:
        """From the simulator's file, of which the end may be missing."""
        snapshots: list[Snapshot] = []
        hashes = {}
        place = 0
        while place + HEAD.size <= len(content):
            kind, application, cycle, low, high, words, _ = HEAD.unpack_from(content, place)
            place += HEAD.size
            if kind == tile.AUDIT_SLOT:
                hashes[application, cycle] = high << 32 | low
                continue
            first, end = place + TABLES_BYTES, place + TABLES_BYTES + 4 * words
            if end > len(content):
                break
            tables, pages = content[place:first], content[first:end]
            is_end = kind == tile.AUDIT_END
            snapshots.append(Snapshot(application, cycle, bool(low), is_end, tables, pages))
            place = end
        return cls(tuple(snapshots), hashes)

"""Scripts of operations on Sv39 spaces with what model/sv39.py says of each; see script_sv39.h."""

from __future__ import annotations

import random
import struct

from model import sv39
from tautochrone.facts import status_format

MAGIC = 0x39337653
CODE_PAGE = 16
SMALL, LARGE, SPACE = sv39.SMALL_PAGES, sv39.LARGE_PAGES, sv39.SPACE_PAGES
CODES = (
    *("MAP_REGION", "UNMAP_REGION", "UNMAP_LINEAR", "LOAD", "STORE", "FETCH"),
    *("MAP_PAGE", "COUNTS", "CLEAN", "WALK", "CLOSE", "INIT"),
)
FAULTS = 128
SIZES = (1, 1, 2, 3, 8, 100, 511, 512, 513, 1024, 5000, 1 << 17, LARGE - 1, LARGE)
# Numbers that no page has, as addresses too: not canonical, the kernel's, and both ends.
HOSTILE_PAGES = (0, SPACE, SPACE + 5, 2 * SPACE - 1, 0x7FFFFFFF, 0xFC080000, 0xFFFFFFFF, 1 << 27)
HOSTILE_RIGHTS = (0, sv39.WRITE, sv39.WRITE | sv39.EXECUTE, 8, 16 | sv39.READ)


def statuses() -> dict[str, int]:
    """The numbers of enum tau_status by name."""
    return {name: number for number, name in enumerate(status_format.NAMES)}


class Script:
    """Operations as bytes, each done on the model at once. `seed` decides all of them."""

    def __init__(
        self, seed: int, spaces: int = 3, frames: int = 600, tables: int | None = None
    ) -> None:
        """Begin with `spaces` spaces over `frames` frames; `tables` more for table pages only."""
        self.random = random.Random(seed)
        self.pools = sv39.Pools(frames, tables)
        self.facts = (spaces, frames, tables or 0)
        self.statuses = statuses()
        self.rows: list[bytes] = []
        self.recent: list[int] = [1]
        self.spaces: list[sv39.Space] = []
        for number in range(spaces):
            self.spaces.append(self._made(number))

    def _row(
        self,
        code: str,
        space: int,
        expected: str = "OK",
        page: int = 0,
        pages: int = 0,
        rights: int = 0,
        value: int = 0,
        extra: int = 0,
    ) -> None:
        numbers = (CODES.index(code), space, rights, self.statuses[expected])
        self.rows.append(struct.pack("<4B3IQ", *numbers, page, pages, extra, value))

    def _made(self, number: int) -> sv39.Space:
        self._row("INIT", number, pages=number + 1)
        space = sv39.Space(self.pools)
        assert space.map_region(CODE_PAGE, 1, sv39.READ | sv39.EXECUTE) == "OK"
        assert space.map_page(CODE_PAGE, sv39.EXECUTE) == "OK"
        return space

    def data(self) -> bytes:
        """The whole script."""
        header = struct.pack("<6I", MAGIC, *self.facts, len(self.rows), 0)
        return header + b"".join(self.rows)

    def map_region(self, number: int, start: int, pages: int, rights: int) -> str:
        """Map a region; the status."""
        status = self.spaces[number].map_region(start, pages, rights & 31)
        self._row("MAP_REGION", number, status, start, pages, rights)
        self.recent.append((start + pages // 2) % SPACE)
        return status

    def unmap_region(self, number: int, start: int, how: str = "UNMAP_REGION") -> str:
        """Unmap a region in constant time, or as "UNMAP_LINEAR"; the status."""
        status = self.spaces[number].unmap_region(start)
        self._row(how, number, status, start)
        return status

    def map_page(self, number: int, page: int, access: int) -> str:
        """Call the fault handler without a fault."""
        status = self.spaces[number].map_page(page, access)
        self._row("MAP_PAGE", number, status, page, 0, access)
        return status

    def access(self, number: int, page: int, offset: int, access: int, value: int = 0) -> str:
        """Load, store or fetch; the status."""
        space = self.spaces[number]
        region = space.region_at(page)
        is_there = region is not None and page in region.content and not access & ~region.rights
        flags = access | (0 if is_there else FAULTS)
        if access == sv39.WRITE:
            status = space.store(page, offset, value)
        else:
            status, value = space.load(page, offset) if access == sv39.READ else ("", 0)
        if access == sv39.EXECUTE:
            status = space.access(page, access)
        code = {sv39.READ: "LOAD", sv39.WRITE: "STORE", sv39.EXECUTE: "FETCH"}[access]
        self._row(code, number, status, page, offset, flags, value)
        self.recent.append(page)
        return status

    def counts(self, number: int) -> None:
        """Compare the counters."""
        free = self.pools.pages_free
        tables = free if self.pools.tables_free is None else self.pools.tables_free
        mapped = self.spaces[number].mapped_pages
        self._row("COUNTS", number, pages=mapped, value=free, extra=tables)

    def walk(self) -> None:
        """Check every table, chain and list."""
        self._row("WALK", 0)

    def reopen(self, number: int) -> None:
        """Give a space back and make a new one."""
        self.spaces[number].close()
        self._row("CLOSE", number)
        self.spaces[number] = self._made(number)

    def some_page(self, number: int) -> int:
        """A page that is likely to be worth a try."""
        regions = self.spaces[number].regions
        choice = self.random.random()
        if choice < 0.75 and regions:
            region = self.random.choice(regions)
            if self.random.random() < 0.3 and region.content:
                return self.random.choice(list(region.content))
            near = self.random.choice((region.start, region.start + region.pages))
            inside = region.start + self.random.randrange(region.pages)
            return self.random.choice((inside, inside, near + self.random.randint(-1, 1)))
        if choice < 0.9:
            return self.random.choice(self.recent[-64:])
        if choice < 0.93:
            return self.random.choice(HOSTILE_PAGES)
        return self.random.randrange(1, SPACE)

    def some_region(self) -> tuple[int, int]:
        """Where to map: start and pages, often next to a region and at borders of slots."""
        pages = self.random.choice(SIZES)
        if self.random.random() < 0.02:
            pages = self.random.choice((0, LARGE + 1, SPACE, 0xFFFFFFFF))
        gib = self.random.choice((0, 1, 2, 3, 128, 255))
        start = gib * LARGE + self.random.choice((0, 0, 1, 2, 511)) * SMALL
        start += self.random.choice((0, 0, 0, 1, 3, SMALL - 1, self.random.randrange(SMALL)))
        if self.random.random() < 0.03:
            start = self.random.choice(HOSTILE_PAGES)
        return start, pages

    def some_access(self, number: int) -> None:
        """Load, store or fetch at a likely page."""
        page = self.some_page(number)
        if page == CODE_PAGE:
            return
        access = self.random.choice((sv39.READ, sv39.READ, sv39.WRITE, sv39.WRITE, sv39.EXECUTE))
        offset = self.random.choice((0, 8, 2048, 4088))
        region = self.spaces[number].region_at(page)
        written = region.content.get(page, {}) if region else {}
        if access == sv39.EXECUTE and offset in written:
            access = sv39.READ  # only the word 0 is known to be no instruction
        self.access(number, page, offset, access, self.random.getrandbits(64) | 1)

    def some_unmap(self, number: int) -> None:
        """Unmap a region, mostly one that is there."""
        others = [r.start for r in self.spaces[number].regions if r.start != CODE_PAGE]
        start = self.random.choice(others) if others else 1
        if self.random.random() < 0.15 or not others:
            start = self.some_page(number)
        if start != CODE_PAGE:
            how = "UNMAP_LINEAR" if self.random.random() < 0.25 else "UNMAP_REGION"
            self.unmap_region(number, start, how)

    def fuzz(self, operations: int, walk_every: int = 200) -> None:
        """Add random operations."""
        for step in range(operations):
            number = self.random.randrange(len(self.spaces))
            choice = self.random.random()
            if choice < 0.75:
                self.some_access(number)
            elif choice < 0.86:
                rights = self.random.choice(sv39.RIGHTS)
                if self.random.random() < 0.03:
                    rights = self.random.choice(HOSTILE_RIGHTS)
                self.map_region(number, *self.some_region(), rights)
            elif choice < 0.95:
                self.some_unmap(number)
            elif choice < 0.98:
                page = self.some_page(number)
                if page != CODE_PAGE:
                    self.map_page(number, page, self.random.choice((1, 2, 4, 3)))
            elif choice < 0.999:
                self._row("CLEAN", number)
            else:
                self.reopen(number)
            self.counts(number)
            if step % walk_every == walk_every - 1:
                self.walk()
        self.walk()

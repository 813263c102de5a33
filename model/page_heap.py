"""Golden models of the two heaps on pages: where blocks lie, and which pages are mapped to what.

Both place blocks alike: `PagedTlsf` is TLSF with blocks that never start a page. `PageHeap` is
ours, `BreakHeap` the conventional one. After each call the pages that must be mapped follow from
all blocks; mapped pages that need not be are released. Addresses are counted from
where the space's page 0 would be. Every operation returns the C function's result: an address
or None for a pointer, a status name for a status. Cost: proportional to blocks and pages.
"""

from __future__ import annotations

import copy

from model.frames import Frames
from model.tlsf import Block, Pool, Tlsf, round_up

PAGE_BYTES = 4096


class PagedTlsf(Tlsf):
    """TLSF over PAGES pages from FIRST on, CONTROL_BYTES of them its own."""

    def __init__(
        self, first: int, pages: int, control_bytes: int, word_bits: int, check_level: int
    ) -> None:
        """Lays the blocks out. A first payload that would start a page is moved by one unit."""
        unit = word_bits // 4
        skip = unit if round_up(control_bytes + word_bits // 8, unit) % PAGE_BYTES == 0 else 0
        heap_bytes = pages * PAGE_BYTES
        self.start = first * PAGE_BYTES
        super().__init__(
            heap_bytes - skip,
            control_bytes,
            word_bits,
            check_level,
            pool_max_bytes=heap_bytes,
            base=self.start + skip,
        )
        self.list_wilderness()
        self.first = first
        self.pages = pages
        self.block_max_bytes = heap_bytes
        self.gap_bytes = 2 * self.unit  # In front of an object that starts a page.

    # Addresses

    def address(self, block: Block) -> int:
        """The address of BLOCK's payload."""
        return self.base + block.payload

    def edge(self, address: int) -> int:
        """The page of the boundary before the payload at ADDRESS."""
        return (address - 8) // PAGE_BYTES

    def span(self, block: Block) -> tuple[int, int]:
        """The edges before BLOCK and after it."""
        start = self.address(block)
        return self.edge(start), self.edge(start + block.size_bytes)

    def edges(self) -> set[int]:
        """Pages that hold a boundary."""
        return {page for block in self.pools[0].blocks for page in self.span(block)}

    def control(self) -> set[int]:
        """Pages from the first one to before the first block's header."""
        return set(range(self.first, self.edge(self.address(self.pools[0].blocks[0]))))

    def inside(self) -> set[int]:
        """Pages strictly between the edges of a used block."""
        return {
            page
            for block in self.pools[0].blocks
            if not block.is_free
            for page in range(self.span(block)[0] + 1, self.span(block)[1])
        }

    def _index(self, pointer: int) -> int:
        """The place of the used block of the object at POINTER. Raises KeyError if it is none."""
        block = pointer - self.gap_bytes if pointer % PAGE_BYTES == 0 else pointer
        return self._used(block - self.base)[1]

    # Placement

    def needed(self, request_bytes: int, gap_bytes: int = 0) -> int:
        """Bytes of the block for a request that starts GAP_BYTES after the payload."""
        return self.block_size(request_bytes, gap_bytes // self.word)

    def cut(self, pool: Pool, index: int, size_bytes: int) -> None:
        """Keeps SIZE_BYTES of the block at INDEX, so that the free rest does not start a page."""
        block = pool.blocks[index]
        if (self.address(block) + size_bytes) % PAGE_BYTES == 0:
            size_bytes += self.unit
        if block.size_bytes - size_bytes >= 2 * self.unit:
            self._cut(pool, index, size_bytes)

    def place(self, request_bytes: int) -> int | None:
        """malloc, as far as blocks go."""
        size_bytes = self.needed(request_bytes)
        block = self._search(size_bytes) if request_bytes else None
        if block is None:
            return None
        self._list_take(block)
        self.cut(self.pools[0], self.pools[0].blocks.index(block), size_bytes)
        return self.address(block)

    def place_aligned(self, alignment: int, request_bytes: int) -> int | None:
        """aligned_alloc, as far as blocks go: the first step of ALIGNMENT whose gap is a block."""
        if alignment <= 0 or alignment & (alignment - 1) or request_bytes == 0:
            return None
        if alignment <= self.unit:
            return self.place(request_bytes)
        size_bytes = self.needed(request_bytes, self.gap_bytes)
        if alignment > (self.block_max_bytes - size_bytes) // 4:
            return None
        found = self._search(size_bytes + 4 * alignment)
        if found is None:
            return None
        self._list_take(found)
        pointer = round_up(self.address(found), alignment)
        while True:
            payload = pointer - (self.gap_bytes if pointer % PAGE_BYTES == 0 else 0)
            gap_bytes = payload - self.address(found)
            if gap_bytes == 0 or gap_bytes >= 2 * self.unit:
                break
            pointer += alignment
        pool = self.pools[0]
        index = pool.blocks.index(found)
        if gap_bytes:
            gap = Block(found.payload, gap_bytes)
            found.payload += gap_bytes
            found.size_bytes -= gap_bytes
            pool.blocks.insert(index, gap)
            self._list_put(gap)
            index += 1
        self.cut(pool, index, size_bytes)
        return pointer

    def grow(self, index: int, size_bytes: int) -> bool:
        """resize, as far as blocks go: False if the object would have to move."""
        pool = self.pools[0]
        block = pool.blocks[index]
        address = self.address(block)
        if size_bytes <= block.size_bytes:
            return self.edge(address + size_bytes) == self.span(block)[1]
        following = self._neighbor(pool, index + 1)
        if following is None or block.size_bytes + following.size_bytes < size_bytes:
            return False
        self._list_take(following)
        block.size_bytes += following.size_bytes
        del pool.blocks[index + 1]
        self.cut(pool, index, size_bytes)
        return True


class PagedHeap:
    """The calls of both heaps. A call on blocks is tried on a copy, and accepted with its pages."""

    blocks: PagedTlsf
    pool: Frames

    def _take(self) -> int:
        frame = self.pool.take()
        assert frame is not None
        return frame

    def _try(self, blocks: PagedTlsf) -> bool:
        """Accept BLOCKS as they are after a call, unless commitment or frames do not allow it."""
        raise NotImplementedError

    def malloc(self, request_bytes: int) -> int | None:
        """As tau_page_heap_malloc and tau_break_heap_malloc."""
        blocks = copy.deepcopy(self.blocks)
        pointer = blocks.place(request_bytes)
        return pointer if pointer is not None and self._try(blocks) else None

    def aligned_alloc(self, alignment: int, request_bytes: int) -> int | None:
        """As tau_page_heap_aligned_alloc and tau_break_heap_aligned_alloc."""
        blocks = copy.deepcopy(self.blocks)
        pointer = blocks.place_aligned(alignment, request_bytes)
        return pointer if pointer is not None and self._try(blocks) else None

    def resize(self, pointer: int, request_bytes: int) -> bool:
        """As tau_page_heap_resize and tau_break_heap_resize."""
        blocks = copy.deepcopy(self.blocks)
        gap_bytes = blocks.gap_bytes if pointer % PAGE_BYTES == 0 else 0
        size_bytes = blocks.needed(request_bytes, gap_bytes)
        grown = request_bytes != 0 and blocks.grow(blocks._index(pointer), size_bytes)
        return grown and self._try(blocks)


class PageHeap(PagedHeap):
    """Ours. `regions` maps each region's start to its mapped pages and frames, the oldest first."""

    def __init__(
        self,
        pool: Frames,
        first: int,
        pages: int,
        control_bytes: int,
        word_bits: int = 32,
        check_level: int = 1,
        commit_max_pages: int = 2**32 - 1,
    ) -> None:
        """Maps the control block's pages, the first edge and the last one, in this order."""
        self.blocks = PagedTlsf(first, pages, control_bytes, word_bits, check_level)
        self.pool = pool
        self.commit_max_pages = commit_max_pages
        self.regions: dict[int, dict[int, int]] = {}
        if control := self.blocks.control():
            self.regions[first] = {page: self._take() for page in sorted(control)}
        for edge in sorted(self.blocks.edges()):
            self.regions[edge] = {edge: self._take()}

    # The state of the heap.

    @property
    def committed(self) -> set[int]:
        """Pages that can be mapped without another malloc."""
        return self.blocks.control() | self.blocks.edges() | self.blocks.inside()

    @property
    def mapped(self) -> dict[int, int]:
        """Every mapped page and its frame."""
        return {page: frame for pages in self.regions.values() for page, frame in pages.items()}

    def is_open(self, start: int) -> bool:
        """Whether all pages of the region at START may be mapped: a used block is over them."""
        if start in self.blocks.control():
            return True
        blocks = self.blocks.pools[0].blocks
        last = [block for block in blocks if self.blocks.span(block)[0] == start]
        return bool(last) and not last[-1].is_free and self.blocks.span(last[-1])[1] != start

    def _region_of(self, page: int) -> int | None:
        starts = [start for start in self.regions if start <= page]
        return max(starts) if starts and page < self.blocks.first + self.blocks.pages else None

    # Operations

    def _try(self, blocks: PagedTlsf) -> bool:
        before, self.blocks = self.blocks, blocks
        fresh = sorted(blocks.edges() - set(self.regions))
        if len(self.committed) > self.commit_max_pages or len(fresh) > self.pool.free_count:
            self.blocks = before
            return False
        for edge in fresh:
            self.regions[edge] = {edge: self._take()}
        return True

    def resize(self, pointer: int, request_bytes: int) -> bool:
        """As tau_page_heap_resize. An edge that the object swallows stays mapped as its newest."""
        if not super().resize(pointer, request_bytes):
            return False
        blocks = self.blocks
        start = blocks.span(blocks.pools[0].blocks[blocks._index(pointer)])[0]
        for edge in sorted(set(self.regions) - blocks.edges() - blocks.control()):
            self.regions[start].update(self.regions.pop(edge))
        return True

    def free(self, pointer: int) -> str:
        """As tau_page_heap_free, for an object. Raises KeyError otherwise."""
        index = self.blocks._index(pointer)
        block = self.blocks.pools[0].blocks[index]
        touched = self.blocks.span(block)
        self.blocks.free(block.payload)
        kept = self.committed
        for start in touched:
            mapped = self.regions.get(start, {})
            gone = [frame for page, frame in mapped.items() if page not in kept]
            if gone:
                self.pool.release(gone[::-1])
            self.regions[start] = {page: frame for page, frame in mapped.items() if page in kept}
            if not self.regions[start]:
                del self.regions[start]
        return "OK"

    def map_page(self, page: int) -> str:
        """A fault of the program at PAGE, as tau_vspace_map_page answers."""
        if page == 0:
            return "PAGE_ZERO"
        if page not in self.committed:
            return "NOT_IN_REGION"
        start = self._region_of(page)
        assert start is not None
        if page in self.regions[start]:
            return "PAGE_MAPPED"
        frame = self.pool.take()
        if frame is None:
            return "NO_FRAME"
        self.regions[start][page] = frame
        return "OK"


class BreakHeap(PagedHeap):
    """The conventional one: pages are given back only when the heap's end is freed."""

    def __init__(
        self,
        pool: Frames,
        first: int,
        pages: int,
        control_bytes: int,
        word_bits: int = 32,
        check_level: int = 1,
    ) -> None:
        """Maps the control block's pages, the first edge and the last page."""
        self.blocks = PagedTlsf(first, pages, control_bytes, word_bits, check_level)
        self.pool = pool
        self.last_page = first + pages - 1
        self.mapped: dict[int, int] = {}
        self._map(self.blocks.control() | self.blocks.edges())
        self.break_page = self._break()

    def _map(self, pages: set[int]) -> None:
        for page in sorted(pages - set(self.mapped)):
            self.mapped[page] = self._take()

    def _break(self) -> int:
        """The first page after the header of a free block at the end; the last page if none."""
        block = self.blocks.pools[0].blocks[-1]
        first = self.blocks.span(block)[0] + 1 if block.is_free else self.last_page
        return min(first, self.last_page)

    def _try(self, blocks: PagedTlsf) -> bool:
        if len(blocks.edges() - set(self.mapped)) > self.pool.free_count:
            return False
        self.blocks = blocks
        self._map(blocks.edges())
        self.break_page = self._break()
        return True

    def free(self, pointer: int) -> str:
        """As tau_break_heap_free: pages from the new break to the old one go back, one by one."""
        index = self.blocks._index(pointer)
        self.blocks.free(self.blocks.pools[0].blocks[index].payload)
        old_break, self.break_page = self.break_page, self._break()
        for page in range(self.break_page, old_break):
            if page in self.mapped:
                self.pool.release([self.mapped.pop(page)])
        return "OK"

    def map_page(self, page: int) -> str:
        """A fault of the program at PAGE."""
        if not self.blocks.first <= page < self.break_page:
            return "NOT_IN_REGION"
        if page in self.mapped:
            return "PAGE_MAPPED"
        frame = self.pool.take()
        if frame is None:
            return "NO_FRAME"
        self.mapped[page] = frame
        return "OK"

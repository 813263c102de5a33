"""The golden models of the heaps on pages, against answers worked out by hand."""

from __future__ import annotations

import random

from model.frames import Frames, Machine
from model.page_heap import PAGE_BYTES, BreakHeap, PageHeap

CONTROL_BYTES = 500
SEED = 20261120


def pool_of(frames_count: int) -> Frames:
    """A shared pool with all frames of a machine."""
    pool = Frames(Machine(frames_count))
    pool.add(0, frames_count)
    return pool


def test_pages_between_headers_come_and_go() -> None:
    """[P0-33] Ten pages: nine between the headers, mapped by faults, all given back at once."""
    heap = PageHeap(pool_of(30), 1, 20, CONTROL_BYTES)
    assert heap.mapped == {1: 0, 20: 1}
    pointer = heap.malloc(10 * PAGE_BYTES)
    assert pointer == PAGE_BYTES + 504
    assert heap.mapped == {1: 0, 11: 2, 20: 1}
    assert len(heap.committed) == 3 + 9
    assert heap.is_open(1)
    assert not heap.is_open(11)
    assert heap.map_page(12) == "NOT_IN_REGION"
    assert [heap.map_page(page) for page in (5, 2, 5, 1)] == ["OK", "OK", *["PAGE_MAPPED"] * 2]
    assert list(heap.regions[1].items()) == [(1, 0), (5, 3), (2, 4)]
    assert heap.free(pointer) == "OK"
    assert heap.mapped == {1: 0, 20: 1}
    assert heap.pool.dirty[:4] == [2, 4, 3, 5]
    assert not heap.is_open(1)


def test_no_block_starts_a_page() -> None:
    """A rest that would start a page starts one unit later; an object that does hides its block."""
    heap = PageHeap(pool_of(30), 1, 20, CONTROL_BYTES)
    pointer = heap.malloc(PAGE_BYTES - 504 - 4)
    block = heap.blocks.pools[0].blocks[0]
    assert pointer == PAGE_BYTES + 504
    assert block.size_bytes == PAGE_BYTES - 504 + 8
    aligned = heap.aligned_alloc(PAGE_BYTES, 100)
    assert aligned is not None
    assert aligned % PAGE_BYTES == 0
    assert heap.blocks.address(heap.blocks.pools[0].blocks[2]) == aligned - 16
    heap.free(aligned)
    heap.free(pointer)
    assert len(heap.blocks.blocks()) == 1


def test_refusals_change_nothing() -> None:
    """Commitment and frames."""
    heap = PageHeap(pool_of(3), 1, 20, CONTROL_BYTES, commit_max_pages=6)
    assert heap.malloc(5 * PAGE_BYTES) is None
    assert heap.malloc(4 * PAGE_BYTES) is not None
    assert heap.pool.free_count == 0
    assert heap.malloc(2 * PAGE_BYTES) is None
    assert heap.mapped == {1: 0, 5: 2, 20: 1}


def test_break_heap_returns_pages_at_the_end_only() -> None:
    """[P0-34] An inner free keeps its pages; the last one gives back all up to the free block."""
    heap = BreakHeap(pool_of(30), 1, 20, CONTROL_BYTES)
    first, second = heap.malloc(4 * PAGE_BYTES), heap.malloc(4 * PAGE_BYTES)
    assert heap.break_page == 10
    assert first is not None
    assert second is not None
    assert heap.map_page(10) == "NOT_IN_REGION"
    assert [heap.map_page(page) for page in range(2, 9)] == [
        *["OK"] * 3,
        "PAGE_MAPPED",
        *["OK"] * 3,
    ]
    heap.free(first)
    assert sorted(heap.mapped) == [*range(1, 10), 20]
    heap.free(second)
    assert sorted(heap.mapped) == [1, 20]
    assert heap.break_page == 2


def test_ours_keeps_no_page_that_the_other_gave_back() -> None:
    """[P0-43] The same program on both: the same places, and ours a part of the other's pages."""
    source = random.Random(SEED)
    ours = PageHeap(pool_of(200), 1, 60, CONTROL_BYTES)
    other = BreakHeap(pool_of(200), 1, 60, CONTROL_BYTES)
    live: list[int] = []
    for _ in range(400):
        if live and source.randrange(2):
            pointer = live.pop(source.randrange(len(live)))
            assert ours.free(pointer) == other.free(pointer)
        else:
            size_bytes = source.randrange(1, 4 * PAGE_BYTES)
            pointer = ours.malloc(size_bytes)
            assert pointer == other.malloc(size_bytes)
            if pointer is not None:
                live.append(pointer)
                page = (pointer + source.randrange(size_bytes)) // PAGE_BYTES
                assert ours.map_page(page) in ("OK", "PAGE_MAPPED")
                assert other.map_page(page) in ("OK", "PAGE_MAPPED")
        assert set(ours.mapped) <= set(other.mapped)

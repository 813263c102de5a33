"""The golden model of the budgeted heap against answers worked out by hand [P1-2, P1-3]."""

from __future__ import annotations

import pytest

from model.budget import Budget


def heap_of(classes: list[tuple[int, int]], size_bytes: int = 8192) -> Budget:
    """A 32-bit heap with 256 bytes of tables and 200 of shared control block."""
    return Budget(size_bytes, classes, 256, 200, 32)


def test_regions_lie_in_order_of_their_bytes() -> None:
    """The largest region first, equal ones in the plan's order."""
    heap = heap_of([(8, 4), (100, 10), (16, 2)])
    assert [region.start for region in heap.regions] == [256 + 1040, 256, 256 + 1040 + 32]
    assert heap.shared_start == 256 + 1040 + 64


def test_exact_size_only_then_shared() -> None:
    """A request without a class, or whose class is full, goes to the shared region [P1-3]."""
    heap = heap_of([(24, 2), (64, 8)])
    small = heap.regions[0]
    first, second, third = heap.malloc(20), heap.malloc(24), heap.malloc(17)
    assert (first, second) == (small.start, small.start + 24)
    assert third >= heap.shared_start
    assert heap.malloc(25) >= heap.shared_start
    assert heap.malloc(57) == heap.regions[1].start


def test_newest_bucket_first() -> None:
    """Buckets given back are used before fresh ones, the newest first."""
    heap = heap_of([(32, 4)])
    buckets = [heap.malloc(32) for _ in range(3)]
    heap.free(buckets[0])
    heap.free(buckets[2])
    assert [heap.malloc(32) for _ in range(3)] == [buckets[2], buckets[0], buckets[2] + 32]
    assert heap.regions[0].peak_used_count == 4


def test_realloc_stays_while_it_fits() -> None:
    """A bucket is kept, left when too small, and taken when the shared region refuses."""
    heap = heap_of([(64, 1), (1600, 1)], 256 + 64 + 1600 + 1024)
    bucket = heap.malloc(60)
    assert heap.realloc(bucket, 1) == bucket
    assert heap.realloc(bucket, 64) == bucket
    moved = heap.realloc(bucket, 65)
    assert moved >= heap.shared_start
    assert heap.realloc(moved, 1600) == heap.regions[1].start
    assert heap.shared.used_bytes == 0


def test_aligned_objects_never_fall_into_a_bucket() -> None:
    """Their alignment would be lost."""
    heap = heap_of([(1600, 1)], 256 + 1600 + 1024)
    aligned = heap.aligned_alloc(64, 10)
    assert heap.realloc(aligned, 1600) is None


def test_bad_plans_are_refused() -> None:
    """Equal after rounding, zero, or too large."""
    for classes in ([(7, 1), (8, 1)], [(0, 1)], [(8, 0)]):
        with pytest.raises(ValueError, match="PLAN_INVALID"):
            heap_of(classes)
    with pytest.raises(ValueError, match="PLAN_TOO_LARGE"):
        heap_of([(4096, 2)])


def test_no_room_for_a_shared_region() -> None:
    """Requests that miss are refused and counted."""
    heap = heap_of([(64, 2)], 256 + 128 + 255)
    assert heap.shared is None
    assert heap.malloc(65) is None
    assert heap.aligned_alloc(32, 64) is None
    assert heap.refused_count == 2

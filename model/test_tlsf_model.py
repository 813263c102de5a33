"""The golden model of TLSF against answers worked out by hand, and its own invariants."""

from __future__ import annotations

import itertools
import random

import pytest

from model.tlsf import Tlsf, second_level_bits

SEED = 20261120


def assert_sound(heap: Tlsf) -> None:
    """[TLSF-1], [TLSF-3], [TLSF-5] and [TLSF-8] of the model's own state."""
    listed = {id(block): number for number, members in heap.lists.items() for block in members}
    for pool in heap.pools:
        position = pool.blocks[0].payload if pool.blocks else pool.sentinel
        was_free = False
        for block in pool.blocks:
            assert block.payload == position
            assert block.size_bytes >= 2 * heap.unit
            assert block.size_bytes % heap.unit == 0
            assert not (was_free and block.is_free)
            assert (id(block) in listed) == block.is_free
            if block.is_free:
                assert listed.pop(id(block)) == heap.class_of(block.size_bytes)
            position += block.size_bytes
            was_free = block.is_free
        assert position == pool.sentinel
    assert not listed
    assert heap.used_bytes <= heap.peak_used_bytes <= heap.capacity_bytes


@pytest.mark.parametrize(("word_bits", "first", "capacity"), [(32, 120, 904), (64, 128, 896)])
def test_layout_of_the_first_pool(word_bits: int, first: int, capacity: int) -> None:
    """Behind 112 bytes of control block: a header, and blocks up to a sentinel at the end."""
    heap = Tlsf(1024, 112, word_bits)
    assert heap.blocks() == [(first, capacity, True)]
    pool = heap.pools[0]
    assert pool.sentinel + pool.wilderness_bytes == first + capacity


def test_second_level_bits_change_at_the_stated_sizes() -> None:
    """Each limit is exclusive."""
    sizes = [1024, 32767, 32768, 524287, 524288, 4194303, 4194304, 1 << 30]
    assert [second_level_bits(size) for size in sizes] == [2, 2, 3, 3, 4, 4, 5, 5]


def test_classes_rise_by_at_most_one_and_never_fall() -> None:
    """Every key has a class, none is left out."""
    heap = Tlsf(1024, 112, 32)
    numbers = [heap.class_of(size) for size in range(16, 65536, 8)]
    assert numbers[0] == 1
    assert all(after - before in (0, 1) for before, after in itertools.pairwise(numbers))


def test_power_of_two_requests_need_no_rounding_up() -> None:
    """A request of 2^n bytes has key 2^n / A and starts its class."""
    for word_bits, unit in ((32, 8), (64, 16)):
        heap = Tlsf(1024, 112, word_bits)
        for power in range(4, 30):
            size = heap.block_size(1 << power)
            assert size // unit - 1 == (1 << power) // unit
            assert heap._is_class_start(size)


def test_split_and_merge() -> None:
    """malloc cuts from the front; free merges with both sides."""
    heap = Tlsf(1024, 112, 32)
    a, b, c = heap.malloc(24), heap.malloc(100), heap.malloc(1)
    assert (a, b, c) == (120, 120 + 32, 120 + 32 + 104)
    heap.free(a)
    heap.free(c)
    assert [is_free for _, _, is_free in heap.blocks()] == [True, False, True]
    heap.free(b)
    assert heap.blocks() == [(120, 904, True)]


def test_rest_too_small_for_a_block_stays() -> None:
    """A rest of A bytes is handed out along with the object."""
    heap = Tlsf(1024, 112, 32)
    hole = heap.malloc(28)
    heap.malloc(1)
    heap.free(hole)
    assert heap.malloc(20) == hole
    assert heap.usable_size(hole) == 28


def test_probe_takes_the_newest_of_the_requests_own_class() -> None:
    """A block of the class that is large enough is used, though not every one would be."""
    heap = Tlsf(65536, 400, 32)
    request = 20 * 8 + 4  # key 21, not the start of its class at L = 3
    large = heap.malloc(request)
    heap.malloc(1)
    heap.free(large)
    assert heap.malloc(request) == large


def test_aligned_alloc_leaves_a_block_before() -> None:
    """The gap is empty or at least the smallest block."""
    for base in range(0, 512, 8):
        heap = Tlsf(4096, 112, 32, base=base)
        offset = heap.aligned_alloc(256, 40)
        assert offset is not None
        assert (base + offset) % 256 == 0
        assert_sound(heap)


def test_realloc_moves_down_only_if_the_alignment_stays() -> None:
    """Step 3 of realloc is refused for an aligned object whose neighbor is not aligned so."""
    heap = Tlsf(2048, 112, 32)
    heap.malloc(28)
    low = heap.malloc(200)
    high = heap.aligned_alloc(64, 100)
    wall = heap.malloc(1)
    assert None not in (low, high, wall)
    heap.free(low)
    assert low % 64 != 0
    moved = heap.realloc(high, 300)
    assert moved is not None
    assert moved != low
    assert moved % 64 == 0


@pytest.mark.parametrize("check_level", [1, 2])
@pytest.mark.parametrize("word_bits", [32, 64])
def test_random_use_keeps_the_invariants(word_bits: int, check_level: int) -> None:
    """Any sequence of operations leaves a sound heap, which is whole again at the end."""
    print(f"seed {SEED}")
    source = random.Random(SEED + word_bits + check_level)
    heap = Tlsf(4096, 128, word_bits, check_level)
    heap.add_pool(8192, 3000)
    whole = heap.blocks()
    live: list[int] = []
    for _ in range(4000):
        choice = source.randrange(8)
        size = int(2 ** source.uniform(0, 10))
        if choice < 3:
            offset = heap.malloc(size)
        elif choice == 3:
            offset = heap.aligned_alloc(1 << source.randrange(10), size)
        elif live and choice < 6:
            heap.free(live.pop(source.randrange(len(live))))
            offset = None
        elif live:
            index = source.randrange(len(live))
            offset = heap.realloc(live[index], size)
            if offset is not None:
                del live[index]
        else:
            continue
        if offset is not None:
            assert offset not in live
            live.append(offset)
        assert_sound(heap)
    for offset in live:
        heap.free(offset)
    assert heap.blocks() == whole

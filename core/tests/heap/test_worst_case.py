"""The worst cases reach the states that they are meant to reach, shown on the golden model."""

from __future__ import annotations

import pytest

from core.tests.heap.worst_case import worst_case_operations
from model.tlsf import Tlsf


def play(heap: Tlsf, operations: list[tuple[str, int, int, int]]) -> dict[str, int]:
    """Runs OPERATIONS and counts the calls that found the longest path's state."""
    places: dict[int, int] = {}
    seen = {"malloc": 0, "free": 0, "moved": 0, "grown": 0}
    for op, number, size, alignment in operations:
        if op == "malloc":
            seen["malloc"] += is_longest_malloc(heap, size)
            places[number] = heap.malloc(size)
        elif op == "aligned_alloc":
            places[number] = heap.aligned_alloc(alignment, size)
        elif op == "realloc":
            old = places[number]
            places[number] = heap.realloc(old, size)
            seen["moved"] += places[number] < old
            seen["grown"] += places[number] == old
        else:
            seen["free"] += is_longest_free(heap, places[number])
            assert heap.free(places.pop(number)) == "OK"
        assert number not in places or places[number] is not None, (op, number, size)
    assert not places
    assert len(heap.blocks()) == 1
    return seen


def word_of(heap: Tlsf, size_bytes: int) -> int:
    """The bitmap word of a block's class."""
    return heap.class_of(size_bytes) // 32


def blocks_in_word(heap: Tlsf, word: int) -> int:
    """Free blocks whose classes share a bitmap word."""
    return sum(len(members) for number, members in heap.lists.items() if number // 32 == word)


def is_longest_malloc(heap: Tlsf, request: int) -> bool:
    """A failed probe, another word, the only block there, and a rest to list."""
    size = heap.block_size(request)
    probed = heap.lists.get(heap.class_of(size), [])
    found = heap._search(size)
    return (
        bool(probed)
        and found is not None
        and probed[0].size_bytes < size
        and word_of(heap, found.size_bytes) != word_of(heap, size)
        and blocks_in_word(heap, word_of(heap, found.size_bytes)) == 1
        and found.size_bytes - size >= heap.block_min
    )


def is_longest_free(heap: Tlsf, offset: int) -> bool:
    """Both neighbors free, each alone in a word of its own."""
    pool, index = heap._find(offset)
    neighbors = [heap._neighbor(pool, index - 1), heap._neighbor(pool, index + 1)]
    if None in neighbors:
        return False
    words = [word_of(heap, block.size_bytes) for block in neighbors]
    return words[0] != words[1] and all(blocks_in_word(heap, word) == 1 for word in words)


@pytest.mark.parametrize("check_level", [0, 1, 2])
@pytest.mark.parametrize("word_bits", [32, 64])
@pytest.mark.parametrize("heap_bytes", [16 << 10, 64 << 10, 1 << 20])
def test_worst_cases_are_reached(heap_bytes: int, word_bits: int, check_level: int) -> None:
    """No call fails, the heap is whole at the end, and the longest paths were taken."""
    operations = worst_case_operations(heap_bytes, word_bits, check_level)
    heap = Tlsf(heap_bytes, 250 if heap_bytes < 65536 else 1000, word_bits, check_level)
    seen = play(heap, operations)
    print(len(operations), "operations;", seen)
    assert seen["moved"] > 0
    assert seen["grown"] > 0
    assert seen["malloc"] > 0
    assert seen["free"] > 0


def test_too_small_a_heap_is_refused() -> None:
    """The message says how large it must be."""
    with pytest.raises(ValueError, match="at least 1024"):
        worst_case_operations(1023)

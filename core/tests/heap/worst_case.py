"""Drives a TLSF heap along its longest paths, for instruction bounds and benchmarks.

The longest malloc probes its own class in vain, finds nothing in that bitmap word, takes the only
block of another word, and lists the rest in an empty word. The longest free merges with both
neighbors, each the only block of its class and of its word, and lists the result in an empty word.
Which sizes are dearest depends on the machine's bit scans, so one scene is played for every
combination of powers of two that the heap has room for. The frees that note a new peak come first,
while little has been in use. Before the other scenes a block at the end of the heap makes all
before it a listed block, because a call on the wilderness is shorter; that is the highest peak.
Every scene leaves only that block, or nothing if it comes first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

Operation = tuple[str, int, int, int]  # op, id, size in bytes, alignment (0: the heap's own)

CONTROL_BYTES_MAX = 1200
GUARD_BYTES = 1
LAST = 200  # the object at the heap's end


def worst_case_operations(
    heap_bytes: int, word_bits: int = 32, check_level: int = 1
) -> list[Operation]:
    """Calls for an empty TLSF heap in HEAP_BYTES of memory; ids are reused after free.

    op is malloc, aligned_alloc, realloc or free. No call fails. Raises ValueError below 1 KiB.
    """
    if heap_bytes < 1024:
        raise ValueError("worst cases need a heap of at least 1024 bytes")
    scenes = Scenes(heap_bytes, word_bits, check_level)
    return list(
        itertools.chain(
            scenes.frees_at_the_peak(),
            scenes.listed_rest(),
            scenes.mallocs(),
            scenes.frees(),
            scenes.reallocs(),
            scenes.copies(),
            scenes.aligned_allocs(),
            [("free", LAST, 0, 0)],
        )
    )


class Scenes:
    """The scenes of one heap. Sizes are blocks' sizes, header included, unless named requests."""

    def __init__(self, heap_bytes: int, word_bits: int, check_level: int) -> None:
        """Finds the powers of two that fit."""
        self.word = word_bits // 8
        self.unit = 2 * self.word
        self.tail = self.word * (2 if check_level >= 2 else 1)
        self.room = heap_bytes - min(CONTROL_BYTES_MAX, heap_bytes // 4) - 8 * self.unit
        self.level_bits = 5
        for bits, limit in ((4, 4 << 20), (3, 512 << 10), (2, 32 << 10)):
            if heap_bytes < limit:
                self.level_bits = bits
        self.keys = [1 << log2 for log2 in range(1, 40) if (1 << log2) * self.unit < self.room]

    def request(self, size: int) -> int:
        """The largest request that a block of SIZE serves."""
        return size - self.tail

    def size(self, key: int) -> int:
        """The block of KEY."""
        return (key + 1) * self.unit

    def listed_rest(self) -> Iterator[Operation]:
        """An object at the end, after a free block with all room of the scenes."""
        yield "malloc", LAST + 1, self.request(self.room + 4 * self.unit), 0
        yield "malloc", LAST, GUARD_BYTES, 0
        yield "free", LAST + 1, 0, 0

    def mallocs(self) -> Iterator[Operation]:
        """A probe that fails, then a block far above is split: the rest, or one before it."""
        for low in self.keys:
            shift = max(low.bit_length() - 1 - self.level_bits, 0)
            probed, wanted = self.size(low), self.size(low + (1 << shift) - 1)
            yield from self.malloc_scene(wanted, [probed])
            for high in self.keys:
                for far in (self.size(high), self.size(high + high // 2), self.size(2 * high - 1)):
                    if far >= wanted + 2 * self.unit:
                        yield from self.malloc_scene(wanted, [probed, far])
                        yield from self.malloc_scene(wanted, [probed, far, far])

    def malloc_scene(self, wanted: int, sizes: list[int]) -> Iterator[Operation]:
        """malloc of a block of WANTED while free blocks of SIZES lie before the heap's rest."""
        if sum(sizes) + 2 * self.unit * len(sizes) + wanted > self.room:
            return
        for number, size in enumerate(sizes):
            yield "malloc", 2 * number, self.request(size), 0
            yield "malloc", 2 * number + 1, GUARD_BYTES, 0
        for number in range(len(sizes)):
            yield "free", 2 * number, 0, 0
        yield "malloc", 100, self.request(wanted), 0
        yield "free", 100, 0, 0
        for number in range(len(sizes)):
            yield "free", 2 * number + 1, 0, 0

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Three neighbors' sizes; what the outer two are matters more than the middle one."""
        for keys in itertools.product(self.keys, self.keys[::4], self.keys):
            sizes = tuple(self.size(key) for key in keys)
            if sum(sizes) + 4 * self.unit <= self.room:
                yield sizes

    def row_scene(self, sizes: tuple[int, int, int], alignment: int = 0) -> Iterator[Operation]:
        """Objects 0, 1, 2 of SIZES and a wall after them; then 0 and 2 are freed."""
        for number, size in enumerate(sizes):
            if alignment:
                yield "aligned_alloc", number, self.request(size) - self.word, alignment
            else:
                yield "malloc", number, self.request(size), 0
        yield "malloc", 3, GUARD_BYTES, 0
        yield "free", 0, 0, 0
        yield "free", 2, 0, 0

    def frees(self) -> Iterator[Operation]:
        """The middle of three, both neighbors free."""
        for sizes in self.rows():
            yield from self.row_scene(sizes)
            yield "free", 1, 0, 0
            yield "free", 3, 0, 0

    def reallocs(self) -> Iterator[Operation]:
        """Into the next block, into both, and shorter again, with and without an alignment."""
        for sizes in self.rows():
            before, middle, behind = sizes
            for alignment in (0, 2 * self.unit):
                copied = 2 * sum(sizes) + 12 * alignment if alignment else 0
                if sum(sizes) + copied + 16 * self.unit > self.room:
                    continue
                for wanted in (
                    middle + behind // 2,
                    middle + behind + before // 2,
                    middle // 2,
                ):
                    yield from self.row_scene(sizes, alignment)
                    yield "realloc", 1, max(wanted - 2 * self.tail, 1), 0
                    yield "free", 1, 0, 0
                    yield "free", 3, 0, 0

    def frees_at_the_peak(self) -> Iterator[Operation]:
        """As frees, while more is in use than ever before: the peak must be noted."""
        peak = 0
        for sizes in sorted(self.rows(), key=sum):
            before, middle, behind = sizes
            extra = before + behind + 2 * self.unit
            used = middle + extra + 2 * self.unit
            if used <= peak or sum(sizes) + extra + 8 * self.unit > self.room:
                continue
            peak = used
            yield from self.row_scene(sizes)
            yield "malloc", 4, self.request(extra), 0
            yield "free", 1, 0, 0
            yield "free", 3, 0, 0
            yield "free", 4, 0, 0

    def copies(self) -> Iterator[Operation]:
        """An aligned object between free neighbors that must be copied far away.

        The block before it is of the class that the new place is searched in, and too small.
        """
        alignment = 2 * self.unit
        for low in self.keys:
            width = max(1 << (low.bit_length() - 1), 1) >> self.level_bits
            wanted = self.size(low + width - 1) - alignment - self.unit
            for behind in self.keys:
                middle = 8 * self.unit
                sizes = (self.size(low), middle, self.size(behind))
                if sum(sizes) + 4 * alignment > wanted:
                    continue
                if sum(sizes) + wanted + 16 * alignment > self.room:
                    continue
                yield "malloc", 0, self.request(sizes[0]), 0
                yield "aligned_alloc", 1, 1, alignment
                yield "malloc", 2, self.request(sizes[2]), 0
                yield "malloc", 3, GUARD_BYTES, 0
                yield "free", 0, 0, 0
                yield "free", 2, 0, 0
                yield "realloc", 1, self.request(wanted) - self.word, 0
                yield "free", 1, 0, 0
                yield "free", 3, 0, 0

    def aligned_allocs(self) -> Iterator[Operation]:
        """After a probe that fails, a block before and one after are cut off the heap's rest."""
        for low, log2 in itertools.product(self.keys, range(1, 8)):
            alignment = self.unit << log2
            width = max(1 << (low.bit_length() - 1), 1) >> self.level_bits
            wanted = self.size(low + width - 1) - alignment - self.unit
            if wanted <= 4 * self.unit or 2 * self.size(low) + wanted > self.room:
                continue
            yield "malloc", 0, self.request(self.size(low)), 0
            yield "malloc", 1, self.unit * 3 // 2, 0
            yield "free", 0, 0, 0
            yield "aligned_alloc", 2, self.request(wanted) - self.word, alignment
            yield "free", 1, 0, 0
            yield "free", 2, 0, 0

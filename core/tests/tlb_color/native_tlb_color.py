"""The compiled TLB coloring behind the interface of its model, with ctypes. No page is touched."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from model.tlb_color.ownership import CODE, DATA, DIRECTORY, ISOLATED, NO_MISS, Partition
from tautochrone.declarations import Library
from tautochrone.facts import status_format

ROLES = (DATA, DIRECTORY, CODE)
MODES = (ISOLATED, NO_MISS)


def log2(value: int) -> int:
    """The logarithm of a power of two."""
    return value.bit_length() - 1


def bit_words(owned: Collection[int], sets: int) -> list[int]:
    """The sets as words of bits."""
    bits = sum(1 << index for index in owned)
    return [bits >> 32 * word & 0xFFFFFFFF for word in range(-(-sets // 32))]


class Native:
    """A partition in C, made of the model's."""

    def __init__(self, library: Library, partition: Partition) -> None:
        self.library = library
        self.windows = [each.windows for each in partition.principals]
        geometry = partition.geometry
        structures = [
            (
                [*each.rows],
                *(each.constant, ROLES.index(each.role), log2(each.page_bytes), each.array),
            )
            for each in geometry.structures
        ]
        arrays = [(each.sets, each.ways, each.safe_ways) for each in geometry.arrays]
        counts = len(arrays), len(structures), log2(geometry.page_bytes)
        principals = []
        for each in partition.principals:
            taken = each.taken or [0] * len(arrays)
            sets = [
                (bit_words(owned, array.sets), count)
                for array, owned, count in zip(geometry.arrays, each.sets, taken, strict=True)
            ]
            windows = [
                (window.start, log2(window.size_bytes), log2(window.page_bytes))
                for window in each.windows
            ]
            principals.append((sets, windows, [], len(windows), 0, b"", each.group))
        self.partition = library.struct("tau_tlb_color_partition")(
            [(arrays, structures, *counts)], principals, len(principals)
        )

    def check(self) -> str:
        """As tau_tlb_color_check."""
        return status_format.NAMES[self.library.tau_tlb_color_check(self.partition)]

    def heap(
        self, number: int, window: int, pages: int, mode: str
    ) -> tuple[str, list[tuple[int, int]]]:
        """As tau_tlb_color_init, and the runs."""
        facts = self.windows[number][window]
        words = facts.size_bytes // facts.page_bytes // 32 + 1
        memory, run = np.zeros(words, np.uint32), self.library.struct("tau_tlb_color_run")()
        heap = self.library.struct("tau_tlb_color")()
        there = self.partition.principals[number].windows[window]
        there.pages_count, there.mode = pages, MODES.index(mode)
        status = self.library.tau_tlb_color_init(
            heap, self.partition, number, window, memory, words
        )
        runs = []
        while status == 0 and self.library.tau_tlb_color_next_run(heap, run):
            runs.append((run.start, run.size_bytes))
        return status_format.NAMES[status], runs

    def most_pages(self, number: int, window: int) -> int:
        """The most pages that an isolated heap can have."""
        facts = self.windows[number][window]
        low, high = 0, facts.size_bytes // facts.page_bytes
        while high - low > 1:
            middle = (low + high) // 2
            fits = self.heap(number, window, middle, ISOLATED)[0] == "OK"
            low, high = (middle, high) if fits else (low, middle)
        return low

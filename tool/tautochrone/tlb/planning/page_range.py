"""The pages of an address range, and which set each goes to in each structure of a geometry."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tautochrone.tlb.geometry import CODE, DATA, Geometry, Structure

Bits = np.ndarray


def sets_of(numbers: np.ndarray, structure: Structure) -> np.ndarray:
    """The set of each base page, given by its number, in a structure."""
    index = np.full(numbers.size, structure.constant, dtype=np.uint16)
    for bit, row in enumerate(structure.rows):
        parity = np.bitwise_count(numbers & np.uint64(row)) & 1
        index ^= parity.astype(np.uint16) << bit
    return index


@dataclass(frozen=True)
class PageRange:
    """`count` base pages from page number `first` on. A page is named by its place in the range."""

    geometry: Geometry
    first: int
    count: int

    def structures(self, role: str) -> list[Structure]:
        """The structures that translate a base page used as `role`, but for uncolorable arrays."""
        return [
            each
            for each in self.geometry.translating(self.geometry.page_bytes, role)
            if self.geometry.arrays[each.array].is_colorable
        ]

    @cached_property
    def sets(self) -> dict[Structure, np.ndarray]:
        """The set of each page in each structure that translates it."""
        numbers = np.arange(self.first, self.first + self.count, dtype=np.uint64)
        structures = dict.fromkeys(self.structures(DATA) + self.structures(CODE))
        return {structure: sets_of(numbers, structure) for structure in structures}

    def address(self, place: int) -> int:
        """The address of a page."""
        return (self.first + place) * self.geometry.page_bytes

    def entry_numbers(self, structure: Structure, places: np.ndarray) -> np.ndarray:
        """The entry of each page in a structure: pages below one directory entry share it."""
        pages_per_entry = structure.page_bytes // self.geometry.page_bytes
        return (self.first + places.astype(np.int64)) // pages_per_entry

"""The pages of an address range, and the shares that their TLB sets are given in.

Divides the sets of all arrays into shares, so that each share alone has pages.

A principal that owns some shares owns their sets in every array. Arrays whose indices have bits in
common are tied: a set of a second level belongs to the share of the first level's set that its
pages have. Other arrays are cut into blocks of sets, or by the lowest bits; which, is measured.
docs/design/tlb_color.md says why.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tautochrone.errors import TauError
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


CHOICES_MAX = 256  # divisions that are measured at most
MEASURED_PAGES_MAX = 1 << 18


@dataclass(frozen=True)
class Functional:
    """A bit of a page number or of a set's number: the parity under `mask`, and `constant`."""

    mask: int
    constant: int


@dataclass(frozen=True)
class Shares:
    """`count` shares, and per array the share of each set; None for an array that has none.

    With `any_range`, the runs of a range of shares are whole wherever the range begins. Otherwise
    only ranges of a power of two at a multiple of it have whole runs.
    """

    count: int
    share_of: tuple[np.ndarray | None, ...]
    any_range: bool

    def sets(self, array: int, first: int, count: int) -> list[int]:
        """The sets of an array that a range of shares has."""
        shares = self.share_of[array]
        if shares is None:
            return []
        return np.flatnonzero((shares >= first) & (shares < first + count)).tolist()

    def admissible(self, pages: PageRange, first: int, count: int, roles: Sequence[str]) -> Bits:
        """Which pages only need sets of a range of shares, in all of these roles."""
        found = np.ones(pages.count, dtype=bool)
        for structure in {each for role in roles for each in pages.structures(role)}:
            shares = self.share_of[structure.array]
            assert shares is not None
            own = (shares >= first) & (shares < first + count)
            found &= own[pages.sets[structure]]
        return found


def divide(pages: PageRange) -> Shares:
    """The division into the most shares. Raises TauError if no array has sets to own."""
    geometry = pages.geometry
    page_bytes = geometry.page_bytes
    if not any(each.role == DATA for each in geometry.translating(page_bytes)):
        raise TauError(
            f"{geometry.name}: no structure of role data translates pages of {page_bytes} bytes",
            "add such a structure, or choose another geometry",
        )
    used = sorted({each.array for each in pages.sets})
    if not used:
        raise TauError(
            f"{geometry.name}: each array that translates pages of {page_bytes} bytes has"
            " one set, so nothing can be owned",
            "choose a geometry that has an array with sets",
        )
    sample = PageRange(geometry, pages.first, min(pages.count, MEASURED_PAGES_MAX))
    count = min(geometry.arrays[array].sets for array in used)
    while True:
        choices = itertools.islice(_divisions(sample, used, count), CHOICES_MAX)
        measured = [(_measure(sample, shares), shares) for shares in choices]
        alive = [(worth, shares) for worth, shares in measured if worth is not None]
        if alive:
            return max(alive, key=lambda each: each[0])[1]
        count //= 2


def _divisions(pages: PageRange, used: Sequence[int], count: int) -> Iterator[Shares]:
    """Every division into `count` shares that is worth measuring."""
    arrays = pages.geometry.arrays
    bits = count.bit_length() - 1
    by_array = {
        array: next(each for each in pages.sets if each.array == array) for array in used
    }
    data = [each for each in used if by_array[each] in pages.structures(DATA)] or list(used)
    first = min(data, key=lambda array: arrays[array].sets)
    any_range = all(row.bit_count() == 1 for each in pages.sets for row in each.rows)
    for start in _starts(by_array[first], bits):
        ways = []
        for array in used:
            structure = by_array[array]
            tied = _tied(structure, by_array[first], start) if array in data else None
            ways.append([start] if array == first else [tied] if tied else _starts(structure, bits))
        for chosen in itertools.product(*ways):
            maps: list[np.ndarray | None] = [None] * len(arrays)
            for array, functionals in zip(used, chosen, strict=True):
                maps[array] = _applied(functionals, arrays[array].sets)
            yield Shares(count, tuple(maps), any_range)


def _starts(structure: Structure, bits: int) -> list[list[Functional]]:
    """All runs of `bits` consecutive bits of a set's number, lowest first."""
    return [
        [Functional(1 << start + bit, 0) for bit in range(bits)]
        for start in range(len(structure.rows) - bits + 1)
    ]


def _applied(functionals: Sequence[Functional], sets: int) -> np.ndarray:
    """The number that the functionals give for each set."""
    numbers = np.arange(sets, dtype=np.uint32)
    result = np.zeros(sets, dtype=np.uint16)
    for bit, each in enumerate(functionals):
        parity = np.bitwise_count(numbers & np.uint32(each.mask)) & 1
        result |= (parity.astype(np.uint16) ^ np.uint16(each.constant)) << bit
    return result


def _tied(
    structure: Structure, other: Structure, functionals: Sequence[Functional]
) -> list[Functional] | None:
    """What gives for a set of `structure` the share of its pages in `other`; None: no function."""
    found = []
    for each in functionals:
        wanted, constant = _on_pages(each, other)
        mask = _combination(structure.rows, wanted)
        if mask is None:
            return None
        parity = (mask & structure.constant).bit_count() % 2
        found.append(Functional(mask, constant ^ parity))
    return found


def _on_pages(functional: Functional, structure: Structure) -> tuple[int, int]:
    """A functional of sets as one of page numbers: mask and constant."""
    mask = 0
    for bit, row in enumerate(structure.rows):
        if functional.mask >> bit & 1:
            mask ^= row
    parity = (functional.mask & structure.constant).bit_count() % 2
    return mask, functional.constant ^ parity


def _combination(rows: Sequence[int], wanted: int) -> int | None:
    """Which rows have the exclusive or `wanted`, as a mask; None if there are none such."""
    basis: list[tuple[int, int]] = []  # value and rows in it, falling; highest bits differ
    for number, row in enumerate(rows):
        value, members = _reduced(row, 1 << number, basis)
        basis.append((value, members))
        basis.sort(reverse=True)
    rest, members = _reduced(wanted, 0, basis)
    return members if rest == 0 else None


def _reduced(value: int, members: int, basis: Sequence[tuple[int, int]]) -> tuple[int, int]:
    for known, of in basis:
        if value ^ known < value:
            value, members = value ^ known, members ^ of
    return value, members


def _measure(pages: PageRange, shares: Shares) -> tuple[int, int] | None:
    """The longest run of one share, and how early each has its first page; None: one has none."""
    common = np.full(pages.count, -1, dtype=np.int32)
    is_common = np.ones(pages.count, dtype=bool)
    for structure in {each for role in (DATA, CODE) for each in pages.structures(role)}:
        owners = shares.share_of[structure.array]
        assert owners is not None
        here = owners[pages.sets[structure]].astype(np.int32)
        is_common &= (common < 0) | (common == here)
        common = here
    found, firsts = np.unique(common[is_common], return_index=True)
    if len(found) < shares.count:
        return None
    common[~is_common] = -1
    changes = np.flatnonzero(np.diff(common)) + 1
    edges = np.concatenate(([0], changes, [pages.count]))
    lengths = np.diff(edges)[common[edges[:-1]] >= 0]
    return int(lengths.max()), -int(np.flatnonzero(is_common)[firsts].max())

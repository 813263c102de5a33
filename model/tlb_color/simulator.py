"""Golden simulator of TLBs: any geometry, five replacement policies, evictions by whom.

Each array is a dictionary of sets, each set a list of ways. An access looks into the structures of
its page in the order of the geometry. If none has it, the walk brings in the directory entries, and
then every structure that missed is filled. An empty way is filled first. Random numbers are as in
hw/tlb: each array has an LFSR. Cost: linear in ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from model.tlb_color.ownership import DATA, DIRECTORY, Geometry, Structure

LRU, PLRU, NRU, RANDOM, ADVERSARIAL = POLICIES = ("lru", "plru", "nru", "random", "adversarial")
TAPS = 0xB400
SEED_MAX = 0xFFFF


@dataclass(frozen=True)
class Entry:
    """A translation, and the owner of the access that brought it in. Data and code of one page
    have one entry."""

    is_directory: bool
    page_bytes: int
    number: int
    owner: int


@dataclass
class Set:
    """The ways of one set, and what the policies know of them."""

    ways: list[Entry | None]
    order: list[int]  # LRU: longest unused way first
    used: set[int] = field(default_factory=set)  # NRU: since all were
    older: dict[tuple[int, int], int] = field(default_factory=dict)  # PLRU: side of each node

    def use(self, way: int) -> None:
        """A way is used now."""
        self.order.remove(way)
        self.order.append(way)
        self.used.add(way)
        if len(self.used) == len(self.ways):
            self.used = {way}
        first, count = 0, _power_of_two_from(len(self.ways))
        while count > 1:
            half = count // 2
            on_right = way >= first + half
            self.older[first, count] = 0 if on_right else 1
            first, count = (first + half if on_right else first), half


def _kind_of(structure: Structure) -> tuple[bool, int]:
    return structure.role == DIRECTORY, structure.page_bytes


def _power_of_two_from(ways: int) -> int:
    return 1 << (ways - 1).bit_length()


def _plru_victim(ways: Set) -> int:
    """Down the tree to the older side; where that side has no way, to the other."""
    first, count = 0, _power_of_two_from(len(ways.ways))
    while count > 1:
        half = count // 2
        side = ways.older.get((first, count), 0)
        first += half if side and first + half < len(ways.ways) else 0
        count = half
    return first


def _worst_victim(ways: Set, owner: int, number: int) -> int:
    """Somebody else's entry, if there is one."""
    others = [way for way, entry in enumerate(ways.ways) if entry and entry.owner != owner]
    return others[number % len(others)] if others else number % len(ways.ways)


class Simulator:
    """TLBs of a geometry; `evictions` counts (who evicted, whose entry). 1 ≤ seed ≤ SEED_MAX."""

    def __init__(self, geometry: Geometry, policy: str, seed: int) -> None:
        self.geometry = geometry
        self.numbers = [seed for _ in geometry.arrays]
        self.sets: dict[tuple[int, int], Set] = {}
        self.evictions: Counter[tuple[int, int]] = Counter()
        self.misses: Counter[int] = Counter()  # walks by owner
        victims: dict[str, Callable[[Set, int, int], int]] = {
            LRU: lambda ways, owner, number: ways.order[0],
            PLRU: lambda ways, owner, number: _plru_victim(ways),
            NRU: lambda ways, owner, number: min(
                set(range(len(ways.ways))) - ways.used, default=0
            ),
            RANDOM: lambda ways, owner, number: number % len(ways.ways),
            ADVERSARIAL: _worst_victim,
        }
        self.victim = victims[policy]

    def access(self, owner: int, address: int, page_bytes: int, role: str = DATA) -> None:
        """An access of OWNER to a page."""
        translating = self.geometry.translating(page_bytes, role)
        missed = []
        for structure in translating:
            if structure.role != DIRECTORY:
                if self._touch(structure, address):
                    break
                missed.append(structure)
        else:
            self.misses[owner] += 1
            for structure in translating:
                if structure.role == DIRECTORY and not self._touch(structure, address):
                    missed.append(structure)
        for structure in missed:
            self._fill(structure, address, owner)

    @property
    def own_count(self) -> int:
        """Evictions of an owner's entries by itself, in arrays that have sets to own."""
        return sum(count for (by, of), count in self.evictions.items() if by == of)

    @property
    def cross_count(self) -> int:
        """Evictions of an owner's entries by others, in arrays that have sets to own."""
        return sum(count for (by, of), count in self.evictions.items() if by != of)

    def _set_of(self, structure: Structure, address: int) -> Set:
        index = structure.index(address // self.geometry.page_bytes)
        count = self.geometry.arrays[structure.array].ways
        return self.sets.setdefault(
            (structure.array, index), Set([None] * count, list(range(count)))
        )

    def _touch(self, structure: Structure, address: int) -> bool:
        """Whether the entry is there; it is used."""
        ways = self._set_of(structure, address)
        wanted = (*_kind_of(structure), address // structure.page_bytes)
        for way, entry in enumerate(ways.ways):
            if entry and (entry.is_directory, entry.page_bytes, entry.number) == wanted:
                ways.use(way)
                return True
        return False

    def _fill(self, structure: Structure, address: int, owner: int) -> None:
        ways = self._set_of(structure, address)
        number = self.numbers[structure.array]
        way = ways.ways.index(None) if None in ways.ways else self.victim(ways, owner, number)
        evicted = ways.ways[way]
        if evicted is not None:
            for _ in range(4):
                number = number >> 1 ^ (TAPS if number & 1 else 0)
            self.numbers[structure.array] = number
            if self.geometry.arrays[structure.array].sets > 1:
                self.evictions[owner, evicted.owner] += 1
        ways.ways[way] = Entry(*_kind_of(structure), address // structure.page_bytes, owner)
        ways.use(way)

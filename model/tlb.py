"""Golden model of hw/tlb: TLBs of one or two levels in front of a plain page table [P4-3].

`Level` is one set-associative TLB, `Tlb` the unit with its counters and registers. Replacement is
written as one would explain it: LRU as a list of ways in the order of their last use, PLRU as a
walk down a tree, random as the next number of an LFSR. A page belongs to an owner, or is shared by
all; what its word does not allow is refused and leaves no trace. Cost: linear in ways.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from model.mmu_cycle import DATA, INSTR, PORTS, UNMAPPED, Inputs, Lookup, Outputs, Result, answer

LRU, PLRU, RANDOM = range(3)
MODULO, XOR = range(2)
INVALIDATE, INVALIDATE_PAGE, OWNER, CLEAR, SEED, REFUSED = range(6)  # registers
KIND, LEVEL_1, LEVEL_2, SELECT, COUNTER = range(6, 11)
LEVEL2 = 2  # The structure after INSTR and DATA.
FIRST_SEED = 0xACE1
TAPS = 0xB400
REFUSED_MAX = 65535
OWNER_SHIFT, SHARED_SHIFT, RIGHTS_SHIFT = 22, 26, 27  # a word of the table, above its frame
OWNER_MASK = 15


@dataclass(frozen=True)
class Shape:
    """Shape of the unit; `sets2` and `ways2` matter with two levels."""

    page_bits: int = 18
    frame_bits: int = 18
    sets: int = 16
    ways: int = 4
    levels: int = 1
    sets2: int = 128
    ways2: int = 4
    index: int = MODULO
    replacement: int = LRU
    owner_bits: int = 2


@dataclass(frozen=True)
class Entry:
    """A translation, and the owner whose lookup brought it in: the page's, unless it is shared."""

    page: int
    frame: int
    rights: int
    owner: int
    is_shared: bool = False

    def serves(self, owner: int) -> bool:
        """Whether OWNER may use it."""
        return self.is_shared or self.owner == owner

    def allows(self, access: int) -> bool:
        """Whether the page has the right."""
        return access & ~self.rights == 0


class Level:
    """One TLB of `sets` x `ways`."""

    def __init__(self, sets: int, ways: int, index: int, replacement: int) -> None:
        self.sets, self.ways, self.index, self.replacement = sets, ways, index, replacement
        self.entries: list[list[Entry | None]] = [[None] * ways for _ in range(sets)]
        self.order = [list(range(ways)) for _ in range(sets)]  # LRU: longest unused way first.
        self.older: list[dict[tuple[int, int], int]] = [{} for _ in range(sets)]  # PLRU
        self.number = FIRST_SEED

    def set_of(self, page: int) -> int:
        """The set of `page`: its last digit base `sets`, or all its digits, exclusive or."""
        if self.index == MODULO or self.sets == 1:
            return page % self.sets
        result = 0
        while page:
            result ^= page % self.sets
            page //= self.sets
        return result

    def find(self, page: int, owner: int) -> Entry | None:
        """The entry of `page` that serves `owner`."""
        found = (each for each in self.entries[self.set_of(page)] if each and each.page == page)
        return next((each for each in found if each.serves(owner)), None)

    def use(self, at: int, way: int) -> None:
        """A way of set `at` is used now."""
        self.order[at].remove(way)
        self.order[at].append(way)
        first, count = 0, self.ways
        while count > 1:  # In each half on the way down, the older use is on the other side.
            half = count // 2
            on_right = way >= first + half
            self.older[at][first, count] = 0 if on_right else 1
            first, count = (first + half if on_right else first), half

    def touch(self, entry: Entry) -> None:
        """This entry is used."""
        at = self.set_of(entry.page)
        self.use(at, self.entries[at].index(entry))

    def victim(self, at: int, ways: list[Entry | None]) -> int:
        """The way of set `at`, which holds `ways`, that the next entry takes: the first empty one
        if there is one."""
        if None in ways:
            return ways.index(None)
        if self.replacement == LRU:
            return self.order[at][0]
        if self.replacement == RANDOM:
            return self.number % self.ways
        first, count = 0, self.ways
        while count > 1:
            half = count // 2
            first, count = first + half * self.older[at][first, count], half
        return first

    def ways_of(self, page: int) -> list[Entry | None]:
        """Entries of the set of `page`."""
        return list(self.entries[self.set_of(page)])

    def fill(self, entry: Entry, ways: list[Entry | None]) -> Entry | None:
        """Put `entry` into its set, which held `ways` when it was looked at; return what had to go
        of these."""
        at = self.set_of(entry.page)
        way = self.victim(at, ways)
        evicted = ways[way]
        if evicted is not None:
            for _ in range(4):
                self.number = self.number >> 1 ^ (TAPS if self.number & 1 else 0)
        self.entries[at][way] = entry
        self.use(at, way)
        return evicted

    def invalidate(self) -> None:
        """Forget all; what the replacement knows stays, and does not matter."""
        self.entries = [[None] * self.ways for _ in range(self.sets)]

    def invalidate_set(self, at: int) -> None:
        """Forget a set."""
        self.entries[at] = [None] * self.ways


@dataclass
class Waiting:
    """A lookup of the first level that missed. `served`: cycles since its service began, None
    before; `killed`: it must not come in; `found`: what the second level has;
    `ways`: the second level's set at that time."""

    lookup: Lookup
    owner: int
    served: int | None = None
    killed: bool = False
    found: Entry | None = None
    ways: list[Entry | None] = field(default_factory=list)


Event = tuple[int, int, int, int]  # Structure, 0 for accesses or 1 for evictions, two numbers.


class Tlb:
    """The unit."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        kind = (shape.index, shape.replacement)
        self.first = [Level(shape.sets, shape.ways, *kind) for _ in PORTS]
        self.second = Level(shape.sets2, shape.ways2, *kind) if shape.levels == 2 else None
        self.levels = [*self.first, *([self.second] if self.second else [])]
        self.owner = self.select = self.refused = 0
        self.counts: Counter[Event] = Counter()
        self.events: list[Event] = []  # From the last cycle. Counted at the end of this one.
        self.waiting: list[Waiting | None] = [None, None]
        self.hits: list[Result | None] = [None, None]  # Answered in this cycle.
        self.serving: int | None = None
        self.read_value: int | None = None

    def translation(self, page: int, word: int, owner: int) -> Entry:
        """What a word of the table says to `owner`: another's page has no right for it."""
        frame, is_shared = word % (1 << self.shape.frame_bits), bool(word >> SHARED_SHIFT & 1)
        is_foreign = not is_shared and word >> OWNER_SHIFT & OWNER_MASK != owner
        return Entry(page, frame, 0 if is_foreign else word >> RIGHTS_SHIFT & 7, owner, is_shared)

    def look(self, port: int, lookup: Lookup) -> Entry | None:
        """Look into the first level; counts."""
        entry = self.first[port].find(lookup.page, self.owner)
        if entry is not None:
            self.first[port].touch(entry)
        self.events.append((port, 0, int(entry is None), self.owner))
        return entry

    def bring(
        self, structure: int, entry: Entry, ways: list[Entry | None] | None = None
    ) -> None:
        """Fill a level, whose set held `ways` (as now, if not given); counts evictions."""
        level = self.levels[structure]
        evicted = level.fill(entry, level.ways_of(entry.page) if ways is None else ways)
        if evicted is not None:
            self.events.append((structure, 1, entry.owner, evicted.owner))

    def write(self, register: int, value: int) -> None:
        """Software writes a register; what makes no sense is counted."""
        index, evictions, structure = value & 255, value >> 8 & 1, value >> 9
        bits = self.shape.owner_bits
        if register == INVALIDATE:
            for level in self.levels:
                level.invalidate()
        elif register == INVALIDATE_PAGE and value < 1 << self.shape.page_bits:
            for level in self.levels:
                level.invalidate_set(level.set_of(value))
        elif register == OWNER and value < 1 << bits:
            self.owner = value
        elif register == CLEAR:
            self.counts.clear()
        elif register == SEED and 0 < value < 1 << 16:
            for level in self.levels:
                level.number = value
        elif (
            register == SELECT
            and structure < len(self.levels)
            and index < 1 << (2 * bits if evictions else bits + 1)
        ):
            self.select = value
        else:
            self.refused = min(self.refused + 1, REFUSED_MAX)

    def read(self, register: int) -> int:
        """Software reads a register."""
        shape = self.shape
        index, evictions, structure = self.select & 255, self.select >> 8 & 1, self.select >> 9
        high, low = divmod(index, 1 << shape.owner_bits)
        values = {
            OWNER: self.owner,
            REFUSED: self.refused,
            KIND: shape.levels << 12 | shape.replacement << 8 | shape.index << 4 | shape.owner_bits,
            LEVEL_1: shape.sets << 8 | shape.ways,
            LEVEL_2: shape.sets2 << 8 | shape.ways2 if shape.levels == 2 else 0,
            SELECT: self.select,
            COUNTER: self.counts[structure, evictions, high, low] % (1 << 32),
        }
        return values.get(register, 0)

    def serve(self, inputs: Inputs) -> tuple[int | None, Entry | None, int | None]:
        """This cycle of the miss that is being served, if any: the port that is answered, with
        which translation (None: not mapped), and the page that is asked of the table."""
        if self.serving is None:
            missed = [port for port in (DATA, INSTR) if self.waiting[port] is not None]
            if not missed:
                return None, None, None
            self.serving = missed[0]
        port = self.serving
        miss = self.waiting[port]
        assert miss is not None
        page = miss.lookup.page
        miss.served = 0 if miss.served is None else miss.served + 1
        if inputs.write is not None:
            register, value = inputs.write
            miss.killed |= register == INVALIDATE or inputs.write == (INVALIDATE_PAGE, page)
        asks_at = 0 if self.second is None else 2
        if miss.served == 1 and self.second is not None:
            miss.found = self.second.find(page, miss.owner)
            miss.ways = self.second.ways_of(page)
            if miss.found is not None:
                self.second.touch(miss.found)
        if miss.served == 2 and self.second is not None:
            self.events.append((LEVEL2, 0, int(miss.found is None), miss.owner))
            if miss.found is not None:
                found = replace(miss.found, owner=miss.owner)
                if not miss.killed and found.allows(miss.lookup.access):
                    self.bring(port, found)
                return port, found, None
        if miss.served == asks_at:
            return None, None, page
        if inputs.word is None:
            return None, None, None
        if inputs.word == 0:
            return port, None, None
        entry = self.translation(page, inputs.word, miss.owner)
        if not miss.killed and entry.allows(miss.lookup.access):
            self.bring(port, entry)
            if self.second is not None:
                self.bring(LEVEL2, entry, miss.ways)
        return port, entry, None

    def step(self, inputs: Inputs) -> Outputs:
        """One cycle. Entries that come in with a write that invalidates another page of their set
        stay; a lookup that hits with an invalidation is answered by the old entry."""
        counted, self.events = self.events, []
        results, misses = list(self.hits), [False, False]
        hits = [result is not None for result in self.hits]
        ready = [self.waiting[port] is None for port in PORTS]
        self.hits = [None, None]
        kept = self.copied() if inputs.write is not None else None
        for port in PORTS:
            lookup = inputs.lookups[port] if ready[port] else None
            if lookup is not None:
                entry = self.look(port, lookup)
                if entry is not None:
                    self.hits[port] = answer(entry.rights, entry.frame, lookup.access)
        finished, entry, request = self.serve(inputs)
        if finished is not None:
            miss = self.waiting[finished]
            assert miss is not None
            misses[finished] = True
            results[finished] = Result(UNMAPPED, None)
            if entry is not None:
                results[finished] = answer(entry.rights, entry.frame, miss.lookup.access)
            self.waiting[finished] = self.serving = None
        for port in PORTS:
            lookup = inputs.lookups[port] if ready[port] else None
            if lookup is not None and self.hits[port] is None:
                self.waiting[port] = Waiting(lookup, self.owner)
        outputs = Outputs(
            (ready[INSTR], ready[DATA]),
            (results[INSTR], results[DATA]),
            request,
            self.read_value,
            (hits[INSTR], hits[DATA]),
            (misses[INSTR], misses[DATA]),
        )
        self.read_value = None if inputs.read is None else self.read(inputs.read)
        self.counts.update(counted)
        if inputs.write is not None:
            brought = self.brought_since(kept)
            self.write(*inputs.write)
            for level, at, way, new in brought:
                level.entries[at][way] = new
        return outputs

    def copied(self) -> list[list[list[Entry | None]]]:
        """All entries as they are now."""
        return [[list(ways) for ways in level.entries] for level in self.levels]

    def brought_since(
        self, kept: list[list[list[Entry | None]]]
    ) -> list[tuple[Level, int, int, Entry]]:
        """The entries that came in since `copied`, and their places."""
        return [
            (level, at, way, entry)
            for level, old in zip(self.levels, kept, strict=True)
            for at, ways in enumerate(level.entries)
            for way, entry in enumerate(ways)
            if entry is not None and entry is not old[at][way]
        ]

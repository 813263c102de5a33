"""Golden model of hw/composable: two small TLBs over a page table of 64 entries in registers.

`find` and `lookup` are what it does; `step` adds when [P2-8, P2-13]. Cost: linear in entries.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.mmu_cycle import PORTS, UNMAPPED, Inputs, Lookup, Outputs, Result, answer

TABLE_ENTRIES = 64
MISS_CYCLES = 33  # from lookup to answer
INVALIDATE, CLEAR, REFUSED, SHAPE, VALID_LOW, VALID_HIGH = range(6)
TABLE = 128  # register of entry i's page: TABLE + 2 i; of its frame: the next one
VALID = 1 << 31
RIGHTS_SHIFT = 27
REFUSED_MAX = 65535


@dataclass(frozen=True)
class Entry:
    """A translation."""

    page: int
    frame: int
    rights: int


@dataclass(frozen=True)
class OnItsWay:
    """A lookup that was taken; `entry` is what it hit, None after a miss. `due`: its cycle."""

    lookup: Lookup
    entry: Entry | None
    due: int


class Composable:
    """The unit with TLBs of `entries`; numbers of pages and frames have so many bits."""

    def __init__(self, page_bits: int, frame_bits: int, entries: int) -> None:
        self.page_bits, self.frame_bits, self.entries = page_bits, frame_bits, entries
        self.table: list[Entry | None] = [None] * TABLE_ENTRIES
        self.frame_written: tuple[int, int, int] | None = None  # slot, frame, rights
        self.tlbs: list[list[Entry]] = [[], []]  # oldest first
        self.refused = 0
        self.now = 0
        self.on_its_way: list[OnItsWay | None] = [None, None]
        self.read_value: int | None = None

    def find(self, page: int) -> Entry | None:
        """The first entry of the table for `page`."""
        return next((entry for entry in self.table if entry and entry.page == page), None)

    def hit(self, port: int, page: int) -> Entry | None:
        """What the TLB of `port` has of `page`."""
        return next((entry for entry in self.tlbs[port] if entry.page == page), None)

    def fill(self, port: int, entry: Entry) -> None:
        """Put `entry` in, in the place of the one that came first if there is no other."""
        if len(self.tlbs[port]) == self.entries:
            self.tlbs[port].pop(0)
        self.tlbs[port].append(entry)

    def lookup(self, port: int, lookup: Lookup) -> tuple[Result, int]:
        """The answer to a lookup by itself, and its cycles."""
        entry, cycles = self.hit(port, lookup.page), 1
        if entry is None:
            entry, cycles = self.find(lookup.page), MISS_CYCLES
            if entry is not None:
                self.fill(port, entry)
        if entry is None:
            return Result(UNMAPPED, None), cycles
        return answer(entry.rights, entry.frame, lookup.access), cycles

    def write(self, register: int, value: int) -> None:
        """Software writes a register; what makes no sense is counted."""
        if register == INVALIDATE:
            self.tlbs = [[], []]
        elif register == CLEAR:
            self.table = [None] * TABLE_ENTRIES
            self.frame_written = None
        elif register < TABLE:
            self.refuse()
        elif register % 2 == 0:
            self.write_page((register - TABLE) // 2, value)
        else:
            self.write_frame((register - TABLE) // 2, value)

    def write_frame(self, slot: int, value: int) -> None:
        """Frame and rights of the entry whose page follows; until then the slot is empty."""
        frame, rights = value % (1 << RIGHTS_SHIFT), value >> RIGHTS_SHIFT
        fits = frame < 1 << self.frame_bits and rights < 8
        self.table[slot] = None
        self.frame_written = (slot, frame, rights) if fits else None
        if not fits:
            self.refuse()

    def write_page(self, slot: int, value: int) -> None:
        """The page: with VALID it completes an entry, without it the slot is empty."""
        self.table[slot] = None
        if not value & VALID:
            return
        page = value & ~VALID
        written = self.frame_written
        if 0 < page < 1 << self.page_bits and written is not None and written[0] == slot:
            self.table[slot] = Entry(page, *written[1:])
            self.frame_written = None
        else:
            self.refuse()

    def refuse(self) -> None:
        """Count a write that made no sense."""
        self.refused = min(self.refused + 1, REFUSED_MAX)

    def read(self, register: int) -> int:
        """Software reads a register."""
        valid = sum((entry is not None) << i for i, entry in enumerate(self.table))
        values = {
            REFUSED: self.refused,
            SHAPE: TABLE_ENTRIES << 8 | self.entries,
            VALID_LOW: valid % (1 << 32),
            VALID_HIGH: valid >> 32,
        }
        return values.get(register, 0)

    def step(self, inputs: Inputs) -> Outputs:
        """One cycle. A write of the table begins searches again that are not at their answer; an
        invalidation in the cycle of an answer keeps its entry out."""
        invalidates = inputs.write is not None and inputs.write[0] == INVALIDATE
        touches = inputs.write is not None and (
            inputs.write[0] == CLEAR or inputs.write[0] >= TABLE
        )
        ready, results = [True, True], [None, None]
        hits, misses = [False, False], [False, False]
        fills: list[tuple[int, Entry]] = []
        for port in PORTS:
            coming = self.on_its_way[port]
            if coming is not None:
                ready[port] = coming.entry is not None
            if coming is not None and coming.due == self.now:
                found = coming.entry or self.find(coming.lookup.page)
                hits[port], misses[port] = ready[port], not ready[port]
                results[port] = Result(UNMAPPED, None)
                if found is not None:
                    results[port] = answer(found.rights, found.frame, coming.lookup.access)
                    if misses[port] and not invalidates:
                        fills.append((port, found))
                self.on_its_way[port] = None
            elif coming is not None and touches:
                again = self.now + MISS_CYCLES
                self.on_its_way[port] = OnItsWay(coming.lookup, None, again)
            taken = inputs.lookups[port] if ready[port] else None
            if taken is not None:
                entry = self.hit(port, taken.page)
                due = self.now + (1 if entry else MISS_CYCLES)
                self.on_its_way[port] = OnItsWay(taken, entry, due)
        outputs = Outputs(
            (ready[0], ready[1]),
            (results[0], results[1]),
            None,
            self.read_value,
            (hits[0], hits[1]),
            (misses[0], misses[1]),
        )
        self.read_value = None if inputs.read is None else self.read(inputs.read)
        if inputs.write is not None:
            self.write(*inputs.write)
        for port, entry in fills:
            self.fill(port, entry)
        self.now += 1
        return outputs

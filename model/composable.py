"""Golden model of hw/composable: lines and two small TLBs over a page table of 64 entries.

`load`, `find` and `lookup` are its functions; `step` adds the cycles [P2-8, P2-13]. Cost: linear in
entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.mmu_cycle import PORTS, UNMAPPED, Inputs, Lookup, Outputs, Result, answer

TABLE_ENTRIES = 64
TABLE_WORDS = 2 * TABLE_ENTRIES
MISS_CYCLES = 17  # From lookup to answer.
LOAD_CYCLES = 65  # Besides the latency of table memory 0, from the write to the next lookup.
LOAD, DOUBTFUL, REFUSED, SHAPE = range(4)
ORDERS = 8  # A page of order k has 4^k of the smallest.
PAGE_FIELD_BITS = 26
ORDER_SHIFT = 26
VALID = 1 << 31
RIGHTS_SHIFT = 27
REFUSED_MAX = 65535
BLOCK_PAGES = 4  # A line has the translation of a block of so many of the smallest pages.
LINES = (16, 64)  # Of fetches, of data. A small window has fewer.


@dataclass(frozen=True)
class Entry:
    """A translation of 4^order pages."""

    page: int
    order: int
    frame: int
    rights: int

    @property
    def pages(self) -> int:
        """So many of the smallest."""
        return 4**self.order

    def has(self, page: int) -> bool:
        """Whether it translates `page`."""
        return self.page <= page < self.page + self.pages

    def frame_of(self, page: int) -> int:
        """The frame of a page that it has."""
        return self.frame + page - self.page

    @property
    def words(self) -> tuple[int, int]:
        """How it is written in a table."""
        return (
            self.page | self.order << ORDER_SHIFT | VALID,
            self.frame | self.rights << RIGHTS_SHIFT,
        )


@dataclass(frozen=True)
class OnItsWay:
    """A lookup that was taken: the entry of the TLB that it hit; None after a miss.

    `due` is its cycle.
    """

    lookup: Lookup
    entry: Entry | None
    due: int


class Composable:
    """The unit with TLBs of `entries`; numbers of pages and frames have so many bits."""

    def __init__(self, page_bits: int, frame_bits: int, entries: int) -> None:
        self.page_bits, self.frame_bits, self.entries = page_bits, frame_bits, entries
        self.lines_of = [min(each, 1 << page_bits - 3) for each in LINES]
        self.table: list[Entry | None] = [None] * TABLE_ENTRIES
        self.forget()
        self.doubtful = self.refused = 0
        self.now = 0
        self.asks: list[int] = []  # Words of table memory 0 that the load has to read.
        self.awaited = 0  # Entries that it has to write.
        self.on_its_way: list[OnItsWay | None] = [None, None]
        self.read_value: int | None = None

    def forget(self) -> None:
        """Lines and TLBs are empty, and the first entry of each TLB is filled next."""
        self.tlbs: list[list[Entry | None]] = [[None] * self.entries for _ in PORTS]
        self.next = [0, 0]
        # Of each line in use, its block and the entry that translates it.
        self.lines: list[dict[int, tuple[int, Entry]]] = [{} for _ in PORTS]

    def entry(self, page_word: int, frame_word: int) -> Entry | None:
        """The entry that two words are, None for an empty one. Raises ValueError if it is doubtful:
        a reserved bit is set, a number is none or not a multiple of the page's size."""
        if not page_word & VALID:
            return None
        page, order = page_word % (1 << PAGE_FIELD_BITS), page_word >> ORDER_SHIFT & 31
        frame, rights = frame_word % (1 << RIGHTS_SHIFT), frame_word >> RIGHTS_SHIFT
        if order >= ORDERS or rights >= 8:
            raise ValueError("a reserved bit")
        made = Entry(page, order, frame, rights)
        for number, bits in ((page, self.page_bits), (frame, self.frame_bits)):
            if number % made.pages or number + made.pages > 1 << bits:
                raise ValueError("a number")
        if page == 0:
            raise ValueError("page 0")
        return made

    def set_entry(self, place: int, words: tuple[int, int]) -> None:
        """Entry `place` becomes what `words` say."""
        self.table[place] = None
        try:
            self.table[place] = self.entry(*words)
        except ValueError:
            self.doubtful += 1

    def load(self, words: Sequence[int]) -> None:
        """The page table becomes what 128 words say; TLBs are forgotten."""
        self.forget()
        self.doubtful = 0
        for place in range(TABLE_ENTRIES):
            self.set_entry(place, (words[2 * place], words[2 * place + 1]))

    def find(self, page: int) -> Entry | None:
        """The first entry of the table for `page`."""
        return next((entry for entry in self.table if entry and entry.has(page)), None)

    def hit(self, port: int, page: int) -> int | None:
        """The first place that has `page` in the TLB of `port`."""
        entries = enumerate(self.tlbs[port])
        return next((place for place, entry in entries if entry and entry.has(page)), None)

    def miss(self, port: int) -> None:
        """A search takes the place whose turn it is, whether it finds the page or not."""
        self.tlbs[port][self.next[port]] = None

    def fill(self, port: int, entry: Entry) -> int:
        """Put `entry` in, in the place whose turn it is. Returns that."""
        place = self.next[port]
        self.tlbs[port][place] = entry
        self.next[port] = (place + 1) % self.entries
        return place

    def line(self, port: int, page: int) -> int:
        """The line of the block that `page` is in."""
        block, lines = page // BLOCK_PAGES, self.lines_of[port]
        return (block ^ block // lines * 16) % lines

    def keep(self, port: int, page: int, entry: Entry) -> None:
        """The line of `page` has the translation of `entry`."""
        self.lines[port][self.line(port, page)] = (page // BLOCK_PAGES, entry)

    def last_frame(self, port: int, lookup: Lookup) -> int | None:
        """The frame for `lookup` if its line has the block, and the translation there allows it."""
        block, entry = self.lines[port].get(self.line(port, lookup.page), (0, None))
        if entry is None or block != lookup.page // BLOCK_PAGES or not entry.has(lookup.page):
            return None
        return None if lookup.access & ~entry.rights else entry.frame_of(lookup.page)

    def lookup(self, port: int, lookup: Lookup) -> tuple[Result, int]:
        """The answer to a lookup by itself, and its cycles."""
        at_once = self.last_frame(port, lookup)
        if at_once is not None:
            return Result(0, at_once), 0
        place, cycles = self.hit(port, lookup.page), 1
        if place is None:
            cycles = MISS_CYCLES
            self.miss(port)
            found = self.find(lookup.page)
            if found is None:
                return Result(UNMAPPED, None), cycles
            place = self.fill(port, found)
        entry = self.tlbs[port][place]
        assert entry is not None
        self.keep(port, lookup.page, entry)
        return answer(entry.rights, entry.frame_of(lookup.page), lookup.access), cycles

    def starts(self, write: tuple[int, int] | None) -> bool:
        """Whether this write starts a load."""
        if write is None or self.awaited:
            return False
        register, number = write
        return register == LOAD and (number + 1) * TABLE_WORDS <= 2 << self.page_bits

    def read(self, register: int) -> int:
        """Software reads a register."""
        values = {
            LOAD: int(self.awaited > 0),
            DOUBTFUL: self.doubtful,
            REFUSED: self.refused,
            SHAPE: TABLE_ENTRIES << 8 | self.entries,
        }
        return values.get(register, 0)

    def step(self, inputs: Inputs) -> Outputs:
        """One cycle. A load begins searches again that are not at their answer, and keeps later
        answers out of the TLBs."""
        is_loading, starts = self.awaited > 0, self.starts(inputs.write)
        forgets = is_loading or starts
        ready, results = [not is_loading] * 2, [None, None]
        hits, misses = [False, False], [False, False]
        last: list[int | None] = [None, None]
        for port in PORTS:
            coming, asked = self.on_its_way[port], inputs.lookups[port]
            ready[port] &= coming is None
            if ready[port] and asked is not None:
                last[port] = self.last_frame(port, asked)
                if not (inputs.at_once[port] and last[port] is not None):
                    place = self.hit(port, asked.page)
                    entry = None if place is None else self.tlbs[port][place]
                    if place is None:
                        self.miss(port)
                    due = self.now + (1 if entry else MISS_CYCLES)
                    self.on_its_way[port] = OnItsWay(asked, entry, due)
            if coming is not None and coming.due == self.now:
                found = coming.entry or self.find(coming.lookup.page)
                hits[port], misses[port] = coming.entry is not None, coming.entry is None
                results[port] = Result(UNMAPPED, None)
                if found is not None:
                    frame = found.frame_of(coming.lookup.page)
                    results[port] = answer(found.rights, frame, coming.lookup.access)
                    self.keep(port, coming.lookup.page, found)
                    if coming.entry is None:
                        self.fill(port, found)
                self.on_its_way[port] = None
            elif coming is not None and forgets:
                again = self.now + MISS_CYCLES
                self.on_its_way[port] = OnItsWay(coming.lookup, None, again)
        outputs = Outputs(
            (ready[0], ready[1]),
            (results[0], results[1]),
            None,
            self.read_value,
            (hits[0], hits[1]),
            (misses[0], misses[1]),
            (last[0], last[1]),
            self.asks[0] if self.asks else None,
        )
        self.read_value = None if inputs.read is None else self.read(inputs.read)
        if forgets:
            self.forget()
        self.asks = self.asks[1:]
        if inputs.pair is not None:
            self.set_entry(TABLE_ENTRIES - self.awaited, inputs.pair)
            self.awaited -= 1
        if starts and inputs.write is not None:
            first = inputs.write[1] * TABLE_WORDS
            self.asks = list(range(first, first + TABLE_WORDS, 2))
            self.awaited, self.doubtful = TABLE_ENTRIES, 0
        elif inputs.write is not None:
            self.refused = min(self.refused + 1, REFUSED_MAX)
        self.now += 1
        return outputs

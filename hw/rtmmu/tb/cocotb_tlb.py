"""cocotb tests of tau_rtmmu_tlb; test_rtmmu.py runs them.

A store before a cycle is seen by the reads of that cycle, so the write to the unit's register that
follows it may be in that cycle already: on the tile's bus it follows one cycle after the store.

The traffic runs while software maps and unmaps. The valid answers are kept per page: its current
mapping, and the old one until a write to the unit's register forgets its region.
"""

import os
import random
from typing import Any

import cocotb

from hw.socket.tb.mmu_socket import PORTS, Lookup, Result, Socket
from hw.socket.tb.traffic import (
    NUMBER_BITS, hostile, mapped_result, random_lookups, validity_expects
)
from model.validity import PagesValidity

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
FRAME_BITS = 12
FRAMES = (1 << FRAME_BITS) - 1
PAGES = 64
ENTRIES = 4
FORGET_REGION, FORGET_ALL = 0, 1
UNMAPPED = Result(True, 1, None)


class Software:
    """Regions that come and go under traffic, with the stores in the order that the unit asks."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.memories = hostile(PAGES, chance)
        regions, stacks, data = self.memories
        self.model = PagesValidity(PAGES, regions[0::2], stacks[0::2], stacks[1::2], data)
        self._store()
        self.regions: dict[int, int] = {}
        # Words that a lookup which is taken now may see; None: not mapped.
        self.seen: list[set[int | None]] = [{None} for _ in range(PAGES)]
        self.to_forget: tuple[int, list[int]] | None = None
        self.socket: Socket | None = None

    def _store(self) -> None:
        regions, stacks, _ = self.memories
        regions[0::2], regions[1::2] = self.model.cache, self.model.sp
        stacks[0::2], stacks[1::2] = self.model.helper, self.model.stack

    def expects(self, lookup: Lookup) -> set[Result]:
        """Every answer that is right for a lookup taken now."""
        return {mapped_result(word, lookup.access, FRAME_BITS) for word in self.seen[lookup.page]}

    def _changes(self, page: int, word: int | None) -> None:
        """PAGE becomes WORD: whoever is on the way there may see both."""
        self.seen[page].add(word)
        if self.socket is not None:
            for port in PORTS:
                for asked in self.socket.asked[port]:
                    if asked.lookup.page == page:
                        asked.allowed.add(mapped_result(word, asked.lookup.access, FRAME_BITS))

    def mapped_of(self, start: int) -> list[int]:
        """The mapped pages of a region."""
        places = range(start, self.model.sp[start] + 1)
        return [self.model.stack[place] for place in places]

    def map_region(self, start: int, count: int) -> None:
        """A region without a mapped page."""
        self.regions[start] = count
        self.model.clear(start)
        self._store()

    def map_page(self, start: int, page: int) -> None:
        """The fault handler; nobody looks PAGE up meanwhile."""
        rights = self.chance.choice((1, 3, 5, 7))
        word = self.chance.getrandbits(FRAME_BITS) | rights << NUMBER_BITS
        self.model.map_page(start, page, word)
        self._store()
        self.seen[page] = {word}

    def unmap_region(self, start: int) -> None:
        """One store; `forget` is the second one."""
        del self.regions[start]
        pages = self.mapped_of(start)
        for page in pages:
            self._changes(page, None)
        self.model.clear(start)
        self._store()
        self.to_forget = start, pages

    def protect(self, start: int) -> None:
        """The pages of a region become read-only."""
        pages = self.mapped_of(start)
        for page in pages:
            word = self.model.frame[page] & ((1 << NUMBER_BITS) - 1) | 1 << NUMBER_BITS
            self.model.frame[page] = word
            self._changes(page, word)
        self._store()
        self.to_forget = start, pages

    def forget(self) -> None:
        """The write to the unit in the coming cycle."""
        start, _ = self.to_forget
        write = (FORGET_REGION, start) if self.chance.random() < 0.8 else (FORGET_ALL, 0)
        self.socket.register_write = write

    def is_forgotten(self) -> None:
        """After that cycle: no lookup from now on sees the old mapping."""
        _, pages = self.to_forget
        for page in pages:
            word = self.model.lookup(page)
            self.seen[page] = {word}
        self.to_forget = None

    def step(self) -> None:
        """Something that software does between two cycles."""
        page = self.chance.randrange(1, PAGES)
        start = next((a for a, count in self.regions.items() if a <= page < a + count), None)
        if start is None:
            end = min([a for a in self.regions if a > page], default=PAGES)
            waits = self.to_forget is not None  # some frames are not free yet
            if not waits:
                self.map_region(page, self.chance.randrange(1, min(end - page, 16) + 1))
        elif self.model.lookup(page) is None:
            asked = [each.lookup.page for port in PORTS for each in self.socket.asked[port]]
            if page not in asked:
                self.map_page(start, page)
        elif self.to_forget is None and self.chance.random() < 0.15:
            self.chance.choice((self.unmap_region, self.unmap_region, self.protect))(start)


async def _socket(dut: Any, software: Software, latencies: tuple, stall: float = 0.0) -> Socket:
    socket = Socket(dut, software.memories, latencies, stall, software.chance.getrandbits(32))
    software.socket = socket
    socket.expects = software.expects
    await socket.reset()
    return socket


@cocotb.test()
async def traffic_under_mapping_and_unmapping(dut: Any) -> None:
    """Any interleaving of lookups with unmaps: never a page of a region that was forgotten."""
    chance = random.Random(SEED)
    cocotb.log.info("TAU_TEST_SEED=%d", SEED)
    hits = forgotten = 0
    for latencies, stall in (((1, 1, 1), 0), ((1, 1, 2), 0), ((2, 3, 5), 0.2), ((1, 1, 1), 0.4)):
        software = Software(chance)
        socket = await _socket(dut, software, latencies, stall)
        write_in = 0
        pages = list(range(PAGES))
        for cycle in range(1200):
            if cycle % 40 == 0:
                pages = chance.sample(range(PAGES), 6)
            for port in PORTS:
                if socket.offers[port] is None and chance.random() < 0.7:
                    lookup = Lookup(chance.choice(pages), chance.choice((1, 1, 2, 4, 3)))
                    socket.offer(port, lookup)
            waited = software.to_forget is not None
            if chance.random() < 0.4:
                software.step()
            if not waited and software.to_forget is not None:
                write_in = chance.randrange(8)
            writes = software.to_forget is not None and write_in == 0
            write_in -= 1
            if writes:
                software.forget()
            await socket.cycle()
            if writes:
                software.is_forgotten()
                forgotten += 1
        await socket.drain()
        hits += socket.events[0]
    assert hits > 500 and forgotten > 40, (hits, forgotten)


@cocotb.test()
async def hostile_tables(dut: Any) -> None:
    """As without a TLB, whatever the tables hold."""
    chance = random.Random(SEED)
    for latencies, stall in (((1, 1, 1), 0.0), ((1, 1, 2), 0.2)):
        memories = hostile(PAGES, chance)
        socket = Socket(dut, memories, latencies, stall, chance.getrandbits(32))
        await socket.reset()
        expect = validity_expects(memories, FRAME_BITS)
        pages = chance.sample(range(PAGES), 10)
        await random_lookups(socket, expect, 300, 0.2, pages)


@cocotb.test()
async def hits_cost_nothing(dut: Any) -> None:
    """A hit takes one cycle, on both ports at once, in every cycle; a miss as many as without."""
    for latency in (1, 2, 3):
        software = Software(random.Random(SEED))
        socket = await _socket(dut, software, (latency,) * 3)
        software.map_region(8, 8)
        for page in range(8, 8 + ENTRIES):
            software.map_page(8, page)
            socket.offer("instr", Lookup(page, 1))
            answers = await socket.drain()
            assert [answer.cycles for answer in answers] == [2 * latency]
        for number in range(50):
            for port, step in (("instr", 1), ("data", 3)):
                socket.offer(port, Lookup(8 + number * step % ENTRIES, 1))
            for answer in await socket.cycle():
                assert answer.cycles == 1
            assert not any(socket.offers.values()), "not taken at once"
        await socket.drain()
        assert socket.events == [100, ENTRIES]


@cocotb.test()
async def one_write_forgets_a_region_and_no_other(dut: Any) -> None:
    """All entries of the region are gone in the next cycle; other regions' entries hit."""
    software = Software(random.Random(SEED))
    socket = await _socket(dut, software, (1, 1, 1))
    pages = {8: [8, 15, 12], 16: [20]}
    for start, inside in pages.items():
        software.map_region(start, 8)
        for page in inside:
            software.map_page(start, page)
            socket.offer("data", Lookup(page, 1))
            await socket.drain()
    software.unmap_region(8)
    software.forget()
    socket.register_write = (FORGET_REGION, 8)
    await socket.cycle()
    software.is_forgotten()
    for page, is_hit in ((8, False), (15, False), (12, False), (20, True)):
        before = list(socket.events)
        socket.offer("instr", Lookup(page, 1))
        await socket.drain()
        assert socket.events[0] - before[0] == is_hit, page
    for write, is_hit in (((FORGET_REGION, 17), True), ((2, 16), True), ((FORGET_ALL, 99), False)):
        socket.register_write = write
        await socket.cycle()
        before = list(socket.events)
        socket.offer("instr", Lookup(20, 1))
        await socket.drain()
        assert socket.events[0] - before[0] == is_hit, write


@cocotb.test()
async def unmap_during_a_miss(dut: Any) -> None:
    """Store and write at every distance from a miss: the page is never translated after them."""
    for latencies in ((1, 1, 1), (2, 2, 4), (1, 1, 6), (3, 1, 1)):
        for store_at in range(9):
            for write_at in range(store_at, 10):
                software = Software(random.Random(SEED))
                socket = await _socket(dut, software, latencies)
                software.map_region(8, 8)
                software.map_page(8, 9)
                socket.offer("data", Lookup(9, 1))
                for cycle in range(10):
                    if cycle == store_at:
                        software.unmap_region(8)
                    if cycle == write_at:
                        software.forget()
                    await socket.cycle()
                    if cycle == write_at:
                        software.is_forgotten()
                        socket.offer("instr", Lookup(9, 1))
                await socket.drain()
                socket.offer("data", Lookup(9, 1))
                answers = await socket.drain()
                assert answers[0].result == UNMAPPED


@cocotb.test()
async def a_hit_waits_for_the_misses_in_front_of_it(dut: Any) -> None:
    """In order on a port; the other port does not wait."""
    software = Software(random.Random(SEED))
    socket = await _socket(dut, software, (3, 3, 3))
    software.map_region(8, 8)
    for page in (8, 9):
        software.map_page(8, page)
    socket.offer("data", Lookup(8, 1))
    await socket.drain()
    socket.offer("data", Lookup(9, 1))
    await socket.cycle()
    order = []
    socket.offer("data", Lookup(8, 2))
    socket.offer("instr", Lookup(8, 1))
    order = [(answer.port, answer.lookup.page, answer.cycles) for answer in await socket.drain()]
    assert order == [("instr", 8, 1), ("data", 9, 6), ("data", 8, 6)], order


@cocotb.test()
async def register_0_says_how_many_entries(dut: Any) -> None:
    """And a read forgets nothing."""
    software = Software(random.Random(SEED))
    socket = await _socket(dut, software, (1, 1, 1))
    dut.reg_req_i.value = 1
    await socket.clock()
    assert int(dut.reg_rdata_o.value) == ENTRIES

"""cocotb tests of tau_rtmmu; test_rtmmu.py runs them.

A unit that was built for fixed latencies is tested with those, and without stalls.
"""

import os
import random
from typing import Any

import cocotb

from hw.socket.tb.mmu_socket import Lookup, Socket
from hw.socket.tb.traffic import hostile, lived_in, nearly, random_lookups, validity_expects
from testing.cocotb_run import unit_parameters

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
FRAME_BITS = 12
PAGES = 64
EVERY_PAGE = list(range(PAGES))
FIXED = tuple(unit_parameters().get(f"Latency{memory}", 0) for memory in range(3))
ANY = [(1, 1, 1), (1, 1, 2), (2, 2, 4), (3, 1, 2), (1, 4, 1), (1, 2, 7)]
LATENCIES = [FIXED] * len(ANY) if any(FIXED) else ANY
STALL = 0.0 if any(FIXED) else 0.1


def possible(latencies: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Those that the unit was built for."""
    return [each for each in latencies if each == FIXED or not any(FIXED)]


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    """Both ports at random, tables that lived and hostile ones, every latency, with stalls."""
    chance = random.Random(SEED)
    cocotb.log.info("TAU_TEST_SEED=%d", SEED)
    faults = mapped = 0
    for latencies in LATENCIES:
        for make, stalls in ((lived_in, 0), (lived_in, 3), (hostile, 2), (hostile, 0)):
            stall = stalls * STALL
            memories = make(PAGES, chance)
            socket = Socket(dut, memories, latencies, stall, chance.getrandbits(32))
            await socket.reset()
            expect = validity_expects(memories, FRAME_BITS)
            idle = chance.choice((0.0, 0.2, 0.8))
            answers = await random_lookups(socket, expect, 120, idle, EVERY_PAGE)
            faults += sum(answer.result.fault for answer in answers)
            mapped += sum(not answer.result.fault for answer in answers)
            assert socket.events[0] + socket.events[1] == len(answers)
            least = max(latencies[0], latencies[1]) * 2
            assert min(answer.cycles for answer in answers) >= max(least, latencies[2])
    assert faults > 300 and mapped > 300, (faults, mapped)


@cocotb.test()
async def one_thing_wrong(dut: Any) -> None:
    """Each word of an entry decides for some pages: above, below, zero, beyond the space."""
    chance = random.Random(SEED)
    faults = mapped = 0
    for _ in range(12):
        memories = nearly(PAGES, chance)
        socket = Socket(dut, memories, LATENCIES[0], seed=chance.getrandbits(32))
        await socket.reset()
        pages = [page for page in EVERY_PAGE if memories[2][page]]
        expect = validity_expects(memories, FRAME_BITS)
        answers = await random_lookups(socket, expect, 60, 0.0, pages)
        faults += sum(answer.result.fault for answer in answers)
        mapped += sum(not answer.result.fault for answer in answers)
    assert faults > 200 and mapped > 50, (faults, mapped)


@cocotb.test()
async def all_words_alike(dut: Any) -> None:
    """Zero everywhere and ones everywhere map nothing; c = h = s = the page maps it."""
    ones = 0xFFFFFFFF
    for word, last in ((0, 0), (ones, ones), (1, 1), (PAGES, PAGES), (PAGES - 1, ones)):
        memories = [word] * 2 * PAGES, [word] * 2 * PAGES, [last] * PAGES
        socket = Socket(dut, memories, LATENCIES[0], seed=SEED)
        await socket.reset()
        expect = validity_expects(memories, FRAME_BITS)
        answers = await random_lookups(socket, expect, 150, 0.0, EVERY_PAGE)
        good = {answer.lookup.page for answer in answers if not answer.result.fault}
        assert good <= {word}


async def _stream(dut: Any, latencies: tuple[int, int, int], port: str) -> set[int]:
    """A lookup in every cycle on PORT; return the cycles that they took."""
    memories = lived_in(PAGES, random.Random(SEED))
    socket = Socket(dut, memories, latencies)
    await socket.reset()
    expect = validity_expects(memories, FRAME_BITS)
    taken = set()
    for number in range(100):
        lookup = Lookup(number * 7 % PAGES, 1)
        socket.offer(port, lookup, {expect(lookup)})
        answers = await socket.cycle()
        assert socket.offers[port] is None, f"not taken in cycle {number}"
        taken |= {answer.cycles for answer in answers}
    return taken | {answer.cycles for answer in await socket.drain()}


@cocotb.test()
async def one_lookup_a_cycle_pipelined(dut: Any) -> None:
    """Equal latencies L: every lookup takes 2 L cycles, and one starts in every cycle."""
    for latencies in possible([(1, 1, 1), (2, 2, 2), (3, 3, 3)]):
        for port in ("instr", "data"):
            assert await _stream(dut, latencies, port) == {2 * latencies[0]}


@cocotb.test()
async def parallel_costs_no_more_than_the_page_table(dut: Any) -> None:
    """Validity memories of half the latency: the page table's latency, at full throughput."""
    for latencies in possible([(1, 1, 2), (2, 2, 4), (3, 3, 6)]):
        assert await _stream(dut, latencies, "data") == {latencies[2]}


@cocotb.test()
async def data_goes_first_and_instr_follows(dut: Any) -> None:
    """Both ports ask at once: the data port is taken, the other one in the next cycle."""
    memories = lived_in(PAGES, random.Random(SEED))
    expect = validity_expects(memories, FRAME_BITS)
    socket = Socket(dut, memories, LATENCIES[0])
    await socket.reset()
    lookup = Lookup(5, 1)
    for port in ("instr", "data"):
        socket.offer(port, lookup, {expect(lookup)})
    answers = await socket.drain()
    assert [(answer.port, answer.waited) for answer in answers] == [("data", 0), ("instr", 1)]


@cocotb.test()
async def reset_forgets_lookups(dut: Any) -> None:
    """A reset with lookups on their way: nothing comes back for them, and all is well after it."""
    memories = lived_in(PAGES, random.Random(SEED))
    expect = validity_expects(memories, FRAME_BITS)
    socket = Socket(dut, memories, FIXED if any(FIXED) else (2, 3, 4))
    for _ in range(3):
        await socket.reset()
        await random_lookups(socket, expect, 20, 0.1, EVERY_PAGE)
        for _ in range(4):
            socket.offer("data", Lookup(3, 1))
            await socket.cycle()

"""cocotb tests of tau_pagetable; test_pagetable_unit.py runs them."""

import os
import random
from typing import Any

import cocotb

from hw.socket.tb.mmu_socket import Lookup, Socket
from hw.socket.tb.traffic import hostile, pagetable_expects, random_lookups

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
FRAME_BITS = 12
PAGES = 64
EVERY_PAGE = list(range(PAGES))


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    """Both ports at random, words of every kind, every latency, with stalls."""
    chance = random.Random(SEED)
    cocotb.log.info("TAU_TEST_SEED=%d", SEED)
    causes: set[int] = set()
    for latency in (1, 2, 5, 16):
        for stall in (0.0, 0.3):
            memories = hostile(PAGES, chance)
            socket = Socket(dut, memories, (1, 1, latency), stall, chance.getrandbits(32))
            await socket.reset()
            expect = pagetable_expects(memories, FRAME_BITS)
            idle = chance.choice((0.0, 0.2, 0.8))
            answers = await random_lookups(socket, expect, 120, idle, EVERY_PAGE)
            causes |= {answer.result.cause for answer in answers}
            assert min(answer.cycles for answer in answers) >= latency
            assert socket.events[0] + socket.events[1] == len(answers)
    assert causes == {0, 1, 2}


@cocotb.test()
async def one_lookup_a_cycle(dut: Any) -> None:
    """The memory's latency and nothing more, a lookup in every cycle."""
    memories = hostile(PAGES, random.Random(SEED))
    expect = pagetable_expects(memories, FRAME_BITS)
    for latency in (1, 2, 7):
        for port in ("instr", "data"):
            socket = Socket(dut, memories, (1, 1, latency))
            await socket.reset()
            answers = []
            for number in range(70):
                lookup = Lookup(number * 7 % PAGES, 1)
                socket.offer(port, lookup, {expect(lookup)})
                answers += await socket.cycle()
                assert socket.offers[port] is None, f"not taken in cycle {number}"
            answers += await socket.drain()
            assert len(answers) == 70
            assert {answer.cycles for answer in answers} == {latency}


@cocotb.test()
async def only_memory_2_is_read(dut: Any) -> None:
    """The unit has one table and one port of memory [P0-34]."""
    memories = hostile(PAGES, random.Random(SEED))
    socket = Socket(dut, memories)
    await socket.reset()
    for table in (socket.tables[number] for number in (0, 1, 3, 4)):
        table.memory = []  # A request to it fails.
    expect = pagetable_expects(memories, FRAME_BITS)
    await random_lookups(socket, expect, 50, 0.1, EVERY_PAGE)


@cocotb.test()
async def reset_forgets_lookups(dut: Any) -> None:
    """A reset with lookups on their way: nothing comes back for them, and all is well after it."""
    memories = hostile(PAGES, random.Random(SEED))
    expect = pagetable_expects(memories, FRAME_BITS)
    socket = Socket(dut, memories, (1, 1, 4))
    for _ in range(3):
        await socket.reset()
        await random_lookups(socket, expect, 20, 0.1, EVERY_PAGE)
        for _ in range(3):
            socket.offer("data", Lookup(3, 1))
            await socket.cycle()

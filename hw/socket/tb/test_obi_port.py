"""The OBI port by itself, under cocotb: random requests, latencies and wait states.

Besides the scoreboard of port_bench.py, this plays the memory. A write reaches the right word
exactly once. A request to the memory holds until it is granted. The port is as fast as its partners
allow. The last test breaks the socket's rules and expects the port's assertion to end the
simulation.
"""

import os
from collections import deque
from pathlib import Path

import cocotb
import pytest

from hw.socket.tb.port_bench import (
    CYCLES,
    PAGE_BITS,
    WINDOW,
    PortBench,
    answers_in_order,
    data_at,
    frame_of,
    refuses_an_answer,
)
from testing.tile import SOCKET

PORT = SOCKET / "tau_obi_port.sv"
TESTS = "hw.socket.tb.test_obi_port"
FRAMES = 0xC000_0000


def is_refused(address: int) -> bool:
    """Whether the memory answers with an error there: at some words that are not translated."""
    return address < WINDOW and address % 64 == 4


class Bench(PortBench):
    """With the memory; the middle two moods are its grant and its answer."""

    MEMORIES = ("mem_gnt", "mem_rvalid", "mem_err")

    def __init__(self, *words, **options) -> None:
        super().__init__(*words, **options)
        self.memory: deque[int] = deque()
        self.held: tuple[int, ...] | None = None

    def drive_memory(self) -> None:
        dut = self.dut
        dut.mem_gnt_i.value = int(not self.waits(1))
        answers = bool(self.memory) and not self.waits(2)
        address = self.memory.popleft() if answers else self.random.randrange(1 << 32)
        dut.mem_rvalid_i.value = int(answers)
        dut.mem_rdata_i.value = data_at(address)
        dut.mem_err_i.value = int(is_refused(address))

    def check_memory(self) -> None:
        """Hold the port to a request that the memory does not grant."""
        dut = self.dut
        wires = ("addr", "we", "be", "wdata", "translated")
        request = None
        if dut.mem_req_o.value:
            request = tuple(int(getattr(dut, f"mem_{wire}_o").value) for wire in wires)
        assert self.held in (None, request)
        self.held = request
        if request is None or not dut.mem_gnt_i.value:
            return
        self.held = None
        address, write, enable, data, translated = request
        assert bool(translated) == (address >= FRAMES)
        self.memory.append(address)
        if write:
            assert self.writes.popleft() == (address, data, enable)

    def expect_answer(self) -> None:
        dut = self.dut
        address, write = int(dut.core_addr_i.value), bool(dut.core_we_i.value)
        page, cause, kind = (address - WINDOW) >> 12, 0, "local"
        if 0 < page < 1 << PAGE_BITS:
            frame, cause = frame_of(page)
            address, kind = FRAMES + frame * 4096 + address % 4096, "window"
        elif dut.user_i.value:
            cause = 3
        if write and cause == 0:
            self.writes.append((address, int(dut.core_wdata_i.value), int(dut.core_be_i.value)))
        cause = cause or 3 * int(is_refused(address))
        self.expected.append((kind, -1 if write else data_at(address), cause))

    async def run(self, cycles: int = CYCLES) -> PortBench:
        await super().run(cycles)
        assert not self.memory
        return self


@cocotb.test()
async def nobody_waits(dut) -> None:
    """With partners that never wait, nearly every cycle is an access."""
    bench = await Bench(dut, (0, 0, 0, 0), 1).run()
    assert bench.kinds == {"local0", "local3", "window0", "window1", "window2"}
    assert bench.answers > 0.75 * CYCLES, bench.answers


@cocotb.test()
async def two_are_on_their_way(dut) -> None:
    """A unit that needs two cycles, but takes a lookup in each, costs no throughput."""
    assert (await Bench(dut, (0, 0, 0, 0), 2).run()).answers > 0.6 * CYCLES


@cocotb.test()
async def everybody_waits(dut) -> None:
    """Wait states everywhere, at random, and slow tables."""
    assert (await Bench(dut, (40, 30, 40, 30), 3).run()).answers > 0.1 * CYCLES


@cocotb.test()
async def the_memory_grants_late(dut) -> None:
    """Results pile up in the port while the memory is busy."""
    assert (await Bench(dut, (0, 80, 0, 0), 1).run()).answers > 0.15 * CYCLES


@cocotb.test()
async def the_memory_answers_late(dut) -> None:
    """Accesses pile up in the memory, and then in the port."""
    assert (await Bench(dut, (0, 0, 80, 0), 1).run()).answers > 0.15 * CYCLES


@cocotb.test()
async def the_same_page_waits_for_nothing(dut) -> None:
    """With the translation used last the unit's latency is paid at another page only."""
    bench = await Bench(dut, (0, 0, 0, 0), 3, keeps=True).run()
    assert bench.at_once > 0.4 * CYCLES, bench.at_once


@cocotb.test()
async def the_same_page_with_everybody_waiting(dut) -> None:
    """Wait states everywhere: at once or not, each access is made once and in order."""
    bench = await Bench(dut, (30, 30, 40, 30), 2, keeps=True).run()
    assert bench.at_once > 0.04 * CYCLES, bench.at_once


@cocotb.test(skip="TAU_BREAK_RULES" not in os.environ)
async def an_answer_nobody_asked_for(dut) -> None:
    """Must not survive: the assertion ends the simulation within this loop."""
    await Bench(dut, (0, 0, 0, 100), 1).break_rules()


@pytest.mark.parametrize("cycles", [1500, pytest.param(6000, marks=pytest.mark.slow)])
def test_port_answers_in_order(tmp_path: Path, cycles: int) -> None:
    answers_in_order(PORT, TESTS, tmp_path, cycles)


def test_port_refuses_an_answer_nobody_asked_for(tmp_path: Path) -> None:
    refuses_an_answer(PORT, TESTS, tmp_path)

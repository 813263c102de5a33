"""The port of the tile by itself, under cocotb: random requests, latencies and wait states.

Besides the scoreboard of port_bench.py, this plays the local memory and the frames. A write reaches
the right frame word exactly once. The port is as fast as its partners allow. The last test breaks
the socket's rules and expects the port's assertion to end the simulation.
"""

import os
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
from testing.tile import TILE

PORT = TILE / "rtl/tau_tile_port.sv"
TESTS = "hw.tile.tb.test_port"


class Bench(PortBench):
    """With the local memory and the frames, which the middle two moods are for."""

    MEMORIES = ("local_gnt", "frame_gnt")
    frame_data = local_data = local_error = None

    def drive_memory(self) -> None:
        dut = self.dut
        dut.local_gnt_i.value = int(not self.waits(1))
        dut.frame_gnt_i.value = int(not self.waits(2))
        dut.frame_rdata_i.value = self.frame_data or 0
        dut.local_rdata_i.value = self.local_data or 0
        dut.local_err_i.value = self.local_error or 0

    def check_memory(self) -> None:
        dut = self.dut
        self.frame_data = self.local_data = self.local_error = None
        if dut.frame_req_o.value and dut.frame_gnt_i.value:
            word = int(dut.frame_word_o.value)
            self.frame_data = data_at(word)
            if dut.frame_we_o.value:
                data, enable = int(dut.frame_wdata_o.value), int(dut.frame_be_o.value)
                assert self.writes.popleft() == (word, data, enable)
        if dut.local_req_o.value and dut.local_gnt_i.value:
            self.local_data = int(dut.core_addr_i.value) ^ 0x5555
            self.local_error = int(dut.local_outside_o.value)

    def expect_answer(self) -> None:
        dut = self.dut
        address, write = int(dut.core_addr_i.value), bool(dut.core_we_i.value)
        page, word = (address - WINDOW) >> 12, address >> 2 & 1023
        if not 0 < page < 1 << PAGE_BITS:
            self.expected.append(("local", address ^ 0x5555, 3 * int(dut.user_i.value)))
            return
        frame, cause = frame_of(page)
        place = frame << 10 | word
        self.expected.append(("window", -1 if write else data_at(place), cause))
        if write and cause == 0:
            self.writes.append((place, int(dut.core_wdata_i.value), int(dut.core_be_i.value)))

    def check_answer(self) -> None:
        is_window = self.expected[0][0] == "window"
        assert bool(self.dut.answer_window_o.value) == is_window
        super().check_answer()


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
async def frames_wait(dut) -> None:
    """Results pile up in the port while the frames are busy."""
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

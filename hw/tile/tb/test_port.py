"""The port of the tile by itself, under cocotb: random requests, latencies and wait states.

A scoreboard plays the core, the unit, the local memory and the frames. Every request is answered
once, in order, with the right data or error. A write reaches the right frame word exactly once. The
port is as fast as its partners allow. The last test breaks the socket's rules and expects the
port's assertion to end the simulation.
"""

import os
import random
from collections import deque
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge

from tautochrone.tile.units import STATUS_PACKAGE
from testing.cocotb_run import Design, run, simulated
from testing.tile import HW, TILE

TESTS = "hw.tile.tb.test_port"
PAGE_BITS, FRAME_BITS = 6, 5
WINDOW = 0x8000_0000
CYCLES = int(os.environ.get("TAU_TEST_CYCLES", "6000"))


def frame_of(page: int) -> tuple[int, int]:
    """Return what the unit answers for a page: frame and cause."""
    return (page * 7 + 3) % (1 << FRAME_BITS), (0, 0, 0, 1, 0, 2, 0)[page % 7]


class Bench:
    """The port's partners; `moods` are chances out of 100 of waiting: unit, local, frames, core.

    With `keeps` the unit gives the translation used last, and the core stays in a page for long.
    """

    def __init__(
        self, dut, seed: int, moods: tuple[int, int, int, int], latency: int, keeps: bool
    ) -> None:
        self.dut, self.random, self.moods, self.latency = dut, random.Random(seed), moods, latency
        self.keeps, self.page, self.last, self.at_once = keeps, 0, 0, 0
        self.expected: deque[tuple[str, int, int]] = deque()
        self.lookups: deque[tuple[int, int]] = deque()
        self.writes: deque[tuple[int, int, int]] = deque()
        self.answers = self.cycle = 0
        self.frame_data = self.local_data = self.local_error = None
        self.asked = 0
        self.kinds: set[str] = set()

    def waits(self, who: int) -> bool:
        return self.random.randrange(100) < self.moods[who]

    def new_request(self) -> None:
        """Drive the next request of the core, or none."""
        dut, chance = self.dut, self.random
        dut.core_req_i.value = int(not self.waits(3))
        stays = self.keeps and frame_of(self.page)[1] == 0 and chance.randrange(20)
        page = self.page if stays else chance.randrange(1 << PAGE_BITS)
        address = WINDOW + page * 4096 + chance.randrange(1024) * 4
        self.page = page
        if chance.randrange(40 if self.keeps else 4) == 0:
            page = 0
            address = chance.choice((0x0010_0000, WINDOW + (1 << PAGE_BITS + 12), 0x4000_0000))
            address += chance.randrange(256) * 4
        self.asked = page
        dut.core_addr_i.value = address
        dut.core_we_i.value = chance.randrange(2)
        dut.core_be_i.value = chance.randrange(1, 16)
        dut.core_wdata_i.value = chance.randrange(1 << 32)
        dut.fetch_i.value = 0
        dut.user_i.value = chance.randrange(2)

    def drive_partners(self) -> None:
        """Set this cycle's inputs of unit, local memory and frames."""
        dut = self.dut
        ready = self.lookups and self.lookups[0][0] <= self.cycle and not self.waits(0)
        dut.result_valid_i.value = int(bool(ready))
        # Without a result the wires hold anything.
        page = self.lookups.popleft()[1] if ready else self.random.randrange(1 << PAGE_BITS)
        frame, cause = frame_of(page)
        dut.result_frame_i.value = frame
        dut.result_cause_i.value = cause
        dut.result_fault_i.value = int(cause != 0)
        # With a lookup of its own on its way such a unit takes no other, so that the port is free.
        is_ready = not self.waits(0) and not (self.keeps and (ready or self.lookups))
        dut.lookup_ready_i.value = int(is_ready)
        hits = self.keeps and is_ready and self.asked != 0 and self.asked == self.last
        dut.last_hit_i.value = int(hits)
        frame = frame_of(self.last)[0] if hits else self.random.randrange(1 << FRAME_BITS)
        dut.last_frame_i.value = frame
        dut.local_gnt_i.value = int(not self.waits(1))
        dut.frame_gnt_i.value = int(not self.waits(2))
        dut.frame_rdata_i.value = self.frame_data or 0
        dut.local_rdata_i.value = self.local_data or 0
        dut.local_err_i.value = self.local_error or 0

    def observe(self) -> bool:
        """Check this cycle's outputs; True when the core's request was granted."""
        dut = self.dut
        if dut.core_rvalid_o.value:
            self.check_answer()
        granted = bool(dut.core_req_i.value and dut.core_gnt_o.value)
        if granted:
            self.expect_answer()
        self.at_once += int(dut.at_once_o.value)
        self.frame_data = self.local_data = self.local_error = None
        if dut.frame_req_o.value and dut.frame_gnt_i.value:
            word = int(dut.frame_word_o.value)
            self.frame_data = (word * 0x9E3779B1) & 0xFFFFFFFF
            if dut.frame_we_o.value:
                data, enable = int(dut.frame_wdata_o.value), int(dut.frame_be_o.value)
                assert self.writes.popleft() == (word, data, enable)
        if dut.local_req_o.value and dut.local_gnt_i.value:
            self.local_data = int(dut.core_addr_i.value) ^ 0x5555
            self.local_error = int(dut.local_outside_o.value)
        if dut.lookup_valid_o.value and dut.lookup_ready_i.value:
            self.lookups.append((self.cycle + self.latency, int(dut.lookup_page_o.value)))
            assert int(dut.lookup_access_o.value) == (2 if dut.core_we_i.value else 1)
            assert dut.lookup_user_o.value == dut.user_i.value
            page = int(dut.lookup_page_o.value)
            self.last = self.last if frame_of(page)[1] else page
        return granted

    def expect_answer(self) -> None:
        """Note what the request that was granted must get."""
        dut = self.dut
        address, write = int(dut.core_addr_i.value), bool(dut.core_we_i.value)
        page, word = (address - WINDOW) >> 12, address >> 2 & 1023
        if not 0 < page < 1 << PAGE_BITS:
            self.expected.append(("local", address ^ 0x5555, 3 * int(dut.user_i.value)))
            return
        frame, cause = frame_of(page)
        place = frame << 10 | word
        self.expected.append(("window", -1 if write else place * 0x9E3779B1 % 2**32, cause))
        if write and cause == 0:
            self.writes.append((place, int(dut.core_wdata_i.value), int(dut.core_be_i.value)))

    def check_answer(self) -> None:
        """Compare the answer of this cycle with the oldest that is expected."""
        dut = self.dut
        kind, data, cause = self.expected.popleft()
        self.kinds.add(f"{kind}{cause}")
        assert bool(dut.answer_window_o.value) == (kind == "window")
        assert int(dut.answer_cause_o.value) == cause
        assert bool(dut.core_err_o.value) == (cause != 0)
        if cause == 0 and data >= 0:
            assert int(dut.core_rdata_o.value) == data
        self.answers += 1

    async def run(self, cycles: int) -> None:
        """Simulate `cycles` after a reset; nothing may be left waiting at the end."""
        dut = self.dut
        for name in (
            "core_req_i",
            "result_valid_i",
            "lookup_ready_i",
            "local_gnt_i",
            "frame_gnt_i",
            "result_fault_i",
            "result_cause_i",
            "last_hit_i",
        ):
            getattr(dut, name).value = 0
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        dut.rst_ni.value = 1
        await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 0
        await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        granted = True
        for self.cycle in range(cycles + 200):
            if granted or not dut.core_req_i.value:
                self.new_request()
            if self.cycle > cycles:
                dut.core_req_i.value = 0
            self.drive_partners()
            await ReadOnly()
            granted = self.observe()
            await RisingEdge(dut.clk_i)
            await FallingEdge(dut.clk_i)
        assert not self.expected and not self.writes and not self.lookups


async def run_with(
    dut, moods: tuple[int, int, int, int], latency: int, keeps: bool = False
) -> Bench:
    """Run a bench with the seed of this test run."""
    bench = Bench(dut, int(os.environ["TAU_TEST_SEED"]), moods, latency, keeps)
    await bench.run(CYCLES)
    return bench


@cocotb.test()
async def nobody_waits(dut) -> None:
    """With partners that never wait, nearly every cycle is an access."""
    bench = await run_with(dut, (0, 0, 0, 0), 1)
    assert bench.kinds == {"local0", "local3", "window0", "window1", "window2"}
    assert bench.answers > 0.75 * CYCLES, bench.answers


@cocotb.test()
async def two_are_on_their_way(dut) -> None:
    """A unit that needs two cycles, but takes a lookup in each, costs no throughput."""
    assert (await run_with(dut, (0, 0, 0, 0), 2)).answers > 0.6 * CYCLES


@cocotb.test()
async def everybody_waits(dut) -> None:
    """Wait states everywhere, at random, and slow tables."""
    for_all = await run_with(dut, (40, 30, 40, 30), 3)
    assert for_all.answers > 0.1 * CYCLES


@cocotb.test()
async def frames_wait(dut) -> None:
    """Results pile up in the port while the frames are busy."""
    assert (await run_with(dut, (0, 0, 80, 0), 1)).answers > 0.15 * CYCLES


@cocotb.test()
async def the_same_page_waits_for_nothing(dut) -> None:
    """With the translation used last the unit's latency is paid at another page only."""
    bench = await run_with(dut, (0, 0, 0, 0), 3, keeps=True)
    assert bench.at_once > 0.4 * CYCLES, bench.at_once


@cocotb.test()
async def the_same_page_with_everybody_waiting(dut) -> None:
    """Wait states everywhere: at once or not, each access is made once and in order."""
    bench = await run_with(dut, (30, 30, 40, 30), 2, keeps=True)
    assert bench.at_once > 0.04 * CYCLES, bench.at_once


@cocotb.test(skip="TAU_BREAK_RULES" not in os.environ)
async def an_answer_nobody_asked_for(dut) -> None:
    """Must not survive: the assertion ends the simulation within this loop."""
    bench = Bench(dut, 1, (0, 0, 0, 100), 1, keeps=False)
    await bench.run(10)
    dut.result_valid_i.value = 1
    for _ in range(20):
        await RisingEdge(dut.clk_i)
    raise AssertionError("went on")


def design() -> Design:
    """The port of a small window."""
    source = TILE / "rtl/tau_tile_port.sv"
    sizes = {"PageBits": PAGE_BITS, "FrameBits": FRAME_BITS}
    return Design(source.stem, [HW / STATUS_PACKAGE, source], sizes)


@pytest.mark.parametrize("cycles", [1500, pytest.param(6000, marks=pytest.mark.slow)])
def test_port_answers_in_order(tmp_path: Path, cycles: int) -> None:
    """The scoreboard agrees with the port in every mood of its partners."""
    seed = int(os.environ.get("TAU_TEST_SEED", random.randrange(1 << 32)))
    print(f"TAU_TEST_SEED={seed}")
    values = {"TAU_TEST_SEED": str(seed), "TAU_TEST_CYCLES": str(cycles)}
    run(design(), TESTS, tmp_path, **values)


def test_port_refuses_an_answer_nobody_asked_for(tmp_path: Path) -> None:
    """The assertion names itself, and the simulation does not go on."""
    name = "an_answer_nobody_asked_for"
    code, log = simulated(design(), TESTS, tmp_path, name, TAU_BREAK_RULES="1")
    assert code != 0 and "assertion ResultWasAskedFor failed" in log, log[-4000:]
    assert "went on" not in log and "FAIL=0" not in log

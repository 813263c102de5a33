"""What plays the partners of a core's port under cocotb: random requests, latencies, wait states.

A scoreboard plays the core and the unit. Every request is answered once, in order, with the right
data or error. A port's own bench adds its memories.
"""

import os
import random
from collections import deque
from pathlib import Path
from typing import ClassVar

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge

from tautochrone.tile.units import STATUS_PACKAGE
from testing.cocotb_run import Design, run, simulated
from testing.tile import HW

PAGE_BITS, FRAME_BITS = 6, 5
WINDOW = 0x8000_0000
CYCLES = int(os.environ.get("TAU_TEST_CYCLES", "6000"))
PARTNERS = ("core_req", "result_valid", "lookup_ready", "result_fault", "result_cause", "last_hit")


def frame_of(page: int) -> tuple[int, int]:
    """Return what the unit answers for a page: frame and cause."""
    return (page * 7 + 3) % (1 << FRAME_BITS), (0, 0, 0, 1, 0, 2, 0)[page % 7]


def data_at(place: int) -> int:
    """What a memory holds there."""
    return place * 0x9E3779B1 % 2**32


class PortBench:
    """The port's partners; `moods` are chances out of 100 of waiting: unit, two of memory, core.

    With `keeps` the unit gives the translation used last, and the core fetches, long in a page.
    """

    # Inputs of the memories that are 0 at the reset.
    MEMORIES: ClassVar[tuple[str, ...]]

    def __init__(
        self, dut, moods: tuple[int, int, int, int], latency: int, keeps: bool = False
    ) -> None:
        self.dut, self.moods, self.latency = dut, moods, latency
        self.random = random.Random(int(os.environ.get("TAU_TEST_SEED", "1")))
        self.keeps, self.page, self.last, self.at_once = keeps, 0, 0, 0
        self.expected: deque[tuple[str, int, int]] = deque()
        self.lookups: deque[tuple[int, int]] = deque()
        self.writes: deque[tuple[int, int, int]] = deque()
        self.answers = self.cycle = self.asked = 0
        self.kinds: set[str] = set()

    def waits(self, who: int) -> bool:
        return self.random.randrange(100) < self.moods[who]

    def drive_memory(self) -> None:
        """Set this cycle's inputs of the memories."""
        raise NotImplementedError

    def check_memory(self) -> None:
        """Check this cycle's outputs to the memories, and take what they grant."""
        raise NotImplementedError

    def expect_answer(self) -> None:
        """Note what the request that was granted must get."""
        raise NotImplementedError

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
        dut.user_i.value = chance.randrange(2)

    def drive_unit(self) -> None:
        """Set this cycle's inputs of the unit."""
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

    def observe(self) -> bool:
        """Check this cycle's outputs; True when the core's request was granted."""
        dut = self.dut
        if dut.core_rvalid_o.value:
            self.check_answer()
        granted = bool(dut.core_req_i.value and dut.core_gnt_o.value)
        if granted:
            self.expect_answer()
        self.at_once += int(dut.at_once_o.value)
        self.check_memory()
        if dut.lookup_valid_o.value and dut.lookup_ready_i.value:
            self.lookups.append((self.cycle + self.latency, int(dut.lookup_page_o.value)))
            access = 4 if self.keeps else 2 if dut.core_we_i.value else 1
            assert int(dut.lookup_access_o.value) == access
            assert dut.lookup_user_o.value == dut.user_i.value
            page = int(dut.lookup_page_o.value)
            self.last = self.last if frame_of(page)[1] else page
        return granted

    def check_answer(self) -> None:
        """Compare the answer of this cycle with the oldest that is expected."""
        dut = self.dut
        kind, data, cause = self.expected.popleft()
        self.kinds.add(f"{kind}{cause}")
        assert int(dut.answer_cause_o.value) == cause
        assert bool(dut.core_err_o.value) == (cause != 0)
        if cause == 0 and data >= 0:
            assert int(dut.core_rdata_o.value) == data
        self.answers += 1

    async def run(self, cycles: int = CYCLES) -> "PortBench":
        """Simulate `cycles` after a reset; nothing may be left waiting at the end."""
        dut = self.dut
        dut.fetch_i.value = int(self.keeps)
        for name in (*PARTNERS, *self.MEMORIES):
            getattr(dut, f"{name}_i").value = 0
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
            self.drive_unit()
            self.drive_memory()
            await ReadOnly()
            granted = self.observe()
            await RisingEdge(dut.clk_i)
            await FallingEdge(dut.clk_i)
        assert not self.expected and not self.writes and not self.lookups
        return self

    async def break_rules(self) -> None:
        """Answer what nobody asked for: the assertion ends the simulation within this loop."""
        await self.run(10)
        self.dut.result_valid_i.value = 1
        for _ in range(20):
            await RisingEdge(self.dut.clk_i)
        raise AssertionError("went on")


def design(source: Path) -> Design:
    """The port of a small window."""
    sizes = {"PageBits": PAGE_BITS, "FrameBits": FRAME_BITS}
    return Design(source.stem, [HW / STATUS_PACKAGE, source], sizes)


def answers_in_order(source: Path, tests: str, folder: Path, cycles: int) -> None:
    """The scoreboard agrees with the port in every mood of its partners."""
    seed = int(os.environ.get("TAU_TEST_SEED", random.randrange(1 << 32)))
    print(f"TAU_TEST_SEED={seed}")
    values = {"TAU_TEST_SEED": str(seed), "TAU_TEST_CYCLES": str(cycles)}
    run(design(source), tests, folder, **values)


def refuses_an_answer(source: Path, tests: str, folder: Path) -> None:
    """The assertion names itself, and the simulation does not go on."""
    name = "an_answer_nobody_asked_for"
    code, log = simulated(design(source), tests, folder, name, TAU_BREAK_RULES="1")
    assert code != 0 and "assertion ResultWasAskedFor failed" in log, log[-4000:]
    assert "went on" not in log and "FAIL=0" not in log

"""Run a unit in the MMU socket and its model side by side and compare every output of every cycle.

For cocotb tests of units whose outputs depend only on their inputs, so each cycle has one answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from model.mmu_cycle import DATA, INSTR, Inputs, Outputs

NAMES = ("instr", "data")


class Model(Protocol):
    """A model of a unit."""

    def step(self, inputs: Inputs) -> Outputs:
        """One cycle."""


def drive(dut: Any, inputs: Inputs) -> None:
    """Put the inputs of a cycle on the unit's ports."""
    for port, name in enumerate(NAMES):
        lookup = inputs.lookups[port]
        getattr(dut, f"{name}_lookup_valid_i").value = int(lookup is not None)
        if lookup is not None:
            getattr(dut, f"{name}_lookup_page_i").value = lookup.page
            getattr(dut, f"{name}_lookup_access_i").value = lookup.access
    dut.table2_rvalid_i.value = int(inputs.word is not None)
    if inputs.word is not None:
        dut.table2_rdata_i.value = inputs.word
    dut.reg_req_i.value = int(inputs.write is not None or inputs.read is not None)
    dut.reg_write_i.value = int(inputs.write is not None)
    if inputs.write is not None:
        dut.reg_addr_i.value, dut.reg_wdata_i.value = inputs.write
    elif inputs.read is not None:
        dut.reg_addr_i.value = inputs.read


def compare(dut: Any, wanted: Outputs, where: str) -> None:
    """Compare the outputs of a cycle."""
    for port, name in enumerate(NAMES):
        assert bool(getattr(dut, f"{name}_lookup_ready_o").value) == wanted.ready[port], where
        result = wanted.results[port]
        seen = bool(getattr(dut, f"{name}_result_valid_o").value)
        assert seen == (result is not None), (where, name, result)
        if result is not None:
            assert int(getattr(dut, f"{name}_result_cause_o").value) == result.cause, (where, name)
            assert bool(getattr(dut, f"{name}_result_fault_o").value) == (result.cause != 0)
            if result.frame is not None:
                frame = int(getattr(dut, f"{name}_result_frame_o").value)
                assert frame == result.frame, (where, name, result)
    assert bool(dut.table2_req_o.value) == (wanted.request is not None), (where, wanted.request)
    if wanted.request is not None:
        assert int(dut.table2_addr_o.value) == wanted.request, where
    for other in (0, 1, 3, 4):
        assert not getattr(dut, f"table{other}_req_o").value
    if wanted.read is not None:
        assert int(dut.reg_rdata_o.value) == wanted.read, (where, hex(wanted.read))
    hits = wanted.hits[INSTR] | wanted.hits[DATA] << 1
    misses = wanted.misses[INSTR] | wanted.misses[DATA] << 1
    assert (int(dut.event_hit_o.value), int(dut.event_miss_o.value)) == (hits, misses), where


async def lockstep(
    dut: Any,
    model: Model,
    stimulus: Callable[[Outputs | None, int | None], Inputs],
    cycles: int,
    latency: int = 1,
    words: Callable[[int], int] = lambda page: 0,
) -> None:
    """Reset the unit, then run `cycles`.

    `stimulus(outputs of the cycle before, word of table 2 that is due)` gives each cycle's inputs;
    `words(page)` is that word, read when it is asked for and delivered `latency` cycles later.
    """
    from cocotb import start_soon
    from cocotb.clock import Clock
    from cocotb.triggers import FallingEdge, ReadOnly

    for signal in ("rst_ni", "instr_lookup_user_i", "data_lookup_user_i", "clk_i"):
        getattr(dut, signal).value = 0
    drive(dut, Inputs())
    for table in (0, 1, 3, 4):
        getattr(dut, f"table{table}_rvalid_i").value = 0
    start_soon(Clock(dut.clk_i, 10, "ns").start())
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 0
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    due: deque[int | None] = deque([None] * latency)
    before: Outputs | None = None
    for cycle in range(cycles):
        inputs = stimulus(before, due.popleft())
        drive(dut, inputs)
        await ReadOnly()
        before = model.step(inputs)
        compare(dut, before, f"cycle {cycle}, {inputs}")
        due.append(None if before.request is None else words(before.request))
        await FallingEdge(dut.clk_i)

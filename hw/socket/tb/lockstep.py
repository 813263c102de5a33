"""Run a unit in the MMU socket and its model side by side and compare every output of every cycle.

For cocotb tests of units whose outputs depend only on their inputs, so each cycle has one answer.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from hw.socket.tb.mmu_socket import address_bits, packed
from model.mmu_cycle import DATA, INSTR, Inputs, Outputs

NAMES = ("instr", "data")


class Model(Protocol):
    """A model of a unit."""

    def step(self, inputs: Inputs) -> Outputs:
        """One cycle."""


def drive(dut: Any, inputs: Inputs, wanted: Outputs | None = None) -> None:
    """Put the inputs of a cycle on the unit's ports: no lookup if the access goes at once."""
    for port, name in enumerate(NAMES):
        lookup = inputs.lookups[port]
        goes = inputs.at_once[port] and wanted is not None and wanted.last[port] is not None
        getattr(dut, f"{name}_lookup_valid_i").value = int(lookup is not None and not goes)
        if lookup is not None:
            getattr(dut, f"{name}_lookup_page_i").value = lookup.page
            getattr(dut, f"{name}_lookup_access_i").value = lookup.access
    has_word, has_pair = inputs.word is not None, inputs.pair is not None
    dut.table_rvalid_i.value = packed([has_pair, 0, has_word, has_pair, 0], 1)
    first, second = inputs.pair or (0, 0)
    dut.table_rdata_i.value = packed([first, 0, inputs.word or 0, second, 0], 32)
    dut.reg_req_i.value = int(inputs.write is not None or inputs.read is not None)
    dut.reg_write_i.value = int(inputs.write is not None)
    if inputs.write is not None:
        dut.reg_addr_i.value, dut.reg_wdata_i.value = inputs.write
    elif inputs.read is not None:
        dut.reg_addr_i.value = inputs.read


def compare(dut: Any, inputs: Inputs, wanted: Outputs, where: str) -> None:
    """Compare the outputs of a cycle."""
    for port, name in enumerate(NAMES):
        if inputs.lookups[port] is not None:
            last = wanted.last[port]
            assert bool(getattr(dut, f"{name}_last_hit_o").value) == (last is not None), where
            if last is not None:
                assert int(getattr(dut, f"{name}_last_frame_o").value) == last, where
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
    pair = wanted.pair
    addresses = (pair, None, wanted.request, None if pair is None else pair + 1, None)
    requests, bits = int(dut.table_req_o.value), address_bits(dut)
    for table, address in enumerate(addresses):
        assert bool(requests >> table & 1) == (address is not None), (where, table, address)
        if address is not None:
            seen = int(dut.table_addr_o.value) >> table * bits & (1 << bits) - 1
            assert seen == address, (where, table)
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
    pairs: Callable[[int], tuple[int, int]] = lambda word: (0, 0),
) -> None:
    """Reset the unit, then run `cycles`.

    `stimulus(outputs of the cycle before, word of table 2 that is due)` gives each cycle's inputs;
    `words(page)` is that word, read when it is asked for and delivered `latency` cycles later; so
    are `pairs(word)` of tables 0 and 3.
    """
    from cocotb import start_soon
    from cocotb.clock import Clock
    from cocotb.triggers import FallingEdge, ReadOnly

    for signal in ("rst_ni", "instr_lookup_user_i", "data_lookup_user_i", "clk_i"):
        getattr(dut, signal).value = 0
    drive(dut, Inputs())
    start_soon(Clock(dut.clk_i, 10, "ns").start())
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 0
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    due: deque[int | None] = deque([None] * latency)
    pairs_due: deque[tuple[int, int] | None] = deque([None] * latency)
    before: Outputs | None = None
    for cycle in range(cycles):
        inputs = replace(stimulus(before, due.popleft()), pair=pairs_due.popleft())
        before = model.step(inputs)
        drive(dut, inputs, before)
        await ReadOnly()
        compare(dut, inputs, before, f"cycle {cycle}, {inputs}")
        due.append(None if before.request is None else words(before.request))
        pairs_due.append(None if before.pair is None else pairs(before.pair))
        await FallingEdge(dut.clk_i)

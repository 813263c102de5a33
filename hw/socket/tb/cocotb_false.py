"""A cocotb test that violates an assertion of the unit, so the simulation must end early."""

from typing import Any

import cocotb

from hw.socket.tb.mmu_socket import Socket


@cocotb.test()
async def answer_that_nobody_asked_for(dut: Any) -> None:
    """Memory 2 answers though no lookup was made."""
    socket = Socket(dut, ([0] * 128, [0] * 128, [0] * 64))
    await socket.reset()
    await socket.cycle()
    dut.table_rvalid_i.value = 1 << 2
    for _ in range(3):
        await socket.clock()
    cocotb.log.error("went on")

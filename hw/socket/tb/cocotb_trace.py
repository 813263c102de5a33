"""A cocotb test that plays a trace to any unit and writes down every answer.

The file named by TAU_UNIT_TRACE is a list of steps: ["store", memory, word, value], ["forget",
page], or ["look", port, page, access]. Answers go to the file named by TAU_UNIT_ANSWERS, one
[fault, cause, frame] for each look. Stores wait until every lookup is answered.
"""

import json
import os
from pathlib import Path
from typing import Any

import cocotb

from hw.socket.tb.mmu_socket import Lookup, Socket

PAGES = 64
FORGET_REGION = 0


@cocotb.test()
async def play(dut: Any) -> None:
    """All steps, in order, as fast as the unit takes them."""
    steps = json.loads(Path(os.environ["TAU_UNIT_TRACE"]).read_text())
    memories = [0] * 2 * PAGES, [0] * 2 * PAGES, [0] * PAGES
    socket = Socket(dut, memories, (1, 1, 2), stall=0.1)
    await socket.reset()
    answers: list[Any] = []
    number_of: dict[str, list[int]] = {"instr": [], "data": []}

    async def cycle() -> None:
        for answer in await socket.cycle():
            number = number_of[answer.port].pop(0)
            answers[number] = [answer.result.fault, answer.result.cause, answer.result.frame]

    for kind, *what in steps:
        if kind == "look":
            port, page, access = what
            while socket.offers[port] is not None:
                await cycle()
            number_of[port].append(len(answers))
            answers.append(None)
            socket.offer(port, Lookup(page, access))
            continue
        while socket.is_busy:
            await cycle()
        if kind == "store":
            memory, word, value = what
            memories[memory][word] = value
        else:
            socket.register_write = FORGET_REGION, what[0]
            await cycle()
    while socket.is_busy:
        await cycle()
    Path(os.environ["TAU_UNIT_ANSWERS"]).write_text(json.dumps(answers))

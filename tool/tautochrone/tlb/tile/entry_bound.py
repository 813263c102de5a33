"""The bound of a way through the kernel of tasks: what one entry takes at most, in cycles.

    entry_bound_cycles(program)   # K of the response-time analysis

An entry begins when the timer's cycle comes, or with the task's call or exception. At worst the
core has just begun the longest instruction of a task: a division, or an access across two pages.
The entry ends with the first instruction of a task, or with the kernel's nap, behind which the next
entry begins. Paths are computed in the linked program (replay/tile/cycle_bounds.py), whose loops
over tasks are unrolled. Each access counts as one of the window that hits. Misses of the kernel's
pages and of the task's instruction are not part of it: the analysis has them.
"""

from __future__ import annotations

from pathlib import Path

import capstone

from tautochrone.code.bounds import Code
from tautochrone.errors import TauError
from tautochrone.replay.tile.cycle_bounds import (
    ARITHMETIC_CYCLES,
    TRAP_CYCLES,
    CyclePaths,
)

VECTORS = "tau_tasks_vectors"
TIMER_OFFSET_BYTES = 4 * 7
WFI = (0x10500073).to_bytes(4, "little")
WINDOW_ANSWER_CYCLES = 2  # a hit, and the frame
INTERRUPT_CYCLES = 4  # from the timer's cycle to its handler, if no instruction is in the way
WAKE_CYCLES = 10  # more than from the timer's cycle to the instruction behind a nap
FETCH_CYCLES = 2 * WINDOW_ANSWER_CYCLES  # of the task's next instruction, across two words


class EntryPaths(CyclePaths):
    """Paths of the kernel: its stack lies in the window too."""

    def __init__(self, code: Code) -> None:
        super().__init__(code, WINDOW_ANSWER_CYCLES, {})

    def access(self, insn: capstone.CsInsn) -> int:
        """As one of the window, whatever it is."""
        return 1 + self.window_answer


def entry_bound_cycles(program: Path) -> int:
    """The most cycles of an entry. Raises TauError if the program's kernel has no bound."""
    code = Code(program)
    if VECTORS not in code.symbols:
        raise TauError(f"{program} has no kernel of tasks")
    paths = EntryPaths(code)
    naps = [address for address in range(*code.text, 2) if code.bytes_at(address) == WFI]
    paths.charged |= dict.fromkeys(naps, 0)  # an entry ends there
    instruction = max(*ARITHMETIC_CYCLES.values(), 1 + 2 * WINDOW_ANSWER_CYCLES)
    vectors = code.symbols[VECTORS]
    by_timer = instruction + INTERRUPT_CYCLES + paths.from_address(vectors + TIMER_OFFSET_BYTES)
    by_task = TRAP_CYCLES + paths.from_address(vectors)
    by_nap = [WAKE_CYCLES + paths.from_address(nap + len(WFI)) for nap in naps]
    return max(by_timer, by_task, *by_nap) + FETCH_CYCLES

"""The bound of the OS slot: how late the gate of a slot may be reached, in cycles [P2-7].

    os_slot_terms(kernel)          # {"its instruction": 37, …}
    os_slot_bound_cycles(kernel)   # their sum; a shorter OS slot may stop the tile [KRN-10]

The timer's cycle comes. The worst case:

1. The core has just begun the longest user instruction: a division, or an access across two pages
   that are in no TLB.
2. That instruction raises an exception, whose handler's first fetch waits for a fetch of the task's
   next page, which is in no TLB either.
3. The handler takes its longest path: it serves a fault, which empties the TLBs.
4. It returns to an instruction across two pages, which are both being fetched.
5. The timer's interrupt is taken. Its handler takes its longest path to the gate.
6. The handler reads the clock a margin ahead of the release.

Paths are computed (tile/cycle_bounds.py) in the linked kernel, whose accesses all go to
banks and devices. Nothing comes twice: interrupts are off in both handlers, and a pending one goes
first when the exception's handler returns. The loader turns interrupts off for fewer cycles than
steps 1 to 4 take, and raises no exception.
"""

from pathlib import Path

from tautochrone.machine.longest_path import Code
from tautochrone.errors import TauError
from tautochrone.facts import compose_format as facts
from tautochrone.tile.cycle_bounds import (
    ARITHMETIC_CYCLES,
    BANK_ANSWER_CYCLES,
    INTERRUPT_CYCLES,
    JUMP_CYCLES,
    TIMER_OFFSET_BYTES,
    TRAP_CYCLES,
    CyclePaths,
    naps,
)

VECTORS, SLOT_END_LABEL, SLOT_END = "tau_trap_vectors", "tau_trap_slot_end", "tau_slot_end"
MISSED_ANSWER_CYCLES = BANK_ANSWER_CYCLES + facts.UNIT_MISS_CYCLES


def os_slot_terms(kernel: Path) -> dict[str, int]:
    """The cycles of each thing that may be in the way of the gate, by name.

    Raises TauError if the kernel's code has no bound.
    """
    code = Code(kernel)
    across_pages = 1 + 2 * MISSED_ANSWER_CYCLES
    to_call = CyclePaths(code, BANK_ANSWER_CYCLES, {SLOT_END_LABEL: 0})
    to_gate = CyclePaths(code, BANK_ANSWER_CYCLES, {})
    to_gate.charged[_gate(code)] = 0
    in_handlers = CyclePaths(code, BANK_ANSWER_CYCLES, {SLOT_END: 0})
    vectors, slot_end = code.symbols[VECTORS], code.symbols[SLOT_END]
    return {
        "instruction": max(*ARITHMETIC_CYCLES.values(), across_pages),
        "fetch ahead of it": MISSED_ANSWER_CYCLES,
        "exception": TRAP_CYCLES,
        "exception handler": in_handlers.from_address(vectors),
        "fetches behind it": 2 * MISSED_ANSWER_CYCLES,
        "interrupt": INTERRUPT_CYCLES,
        "timer handler": to_call.from_address(vectors + TIMER_OFFSET_BYTES)
        + JUMP_CYCLES
        + to_call.fetch(slot_end)
        + to_gate.from_address(slot_end),
        "margin of the gate": facts.GATE_MARGIN_CYCLES,
    }


def os_slot_bound_cycles(kernel: Path) -> int:
    """The shortest OS slot that always holds, by the linked kernel. Raises TauError as above."""
    return sum(os_slot_terms(kernel).values())


def _gate(code: Code) -> int:
    """The address at which the end of a slot falls asleep."""
    address = code.symbols[SLOT_END]
    end = min([*(other for other in code.names if other > address), code.text[1]])
    found = [nap for nap in naps(code) if address <= nap < end]
    if len(found) != 1:
        raise TauError(f"{SLOT_END} sleeps at {len(found)} places, not at one")
    return found[0]

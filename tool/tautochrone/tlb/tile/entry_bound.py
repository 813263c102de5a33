"""The bound of a way through the kernel of tasks: what one entry takes at most, in cycles.

    entry_cycles(program, shape.miss_cycles)   # K of the response-time analysis

An entry begins when the timer's cycle comes, or with the task's call or exception. At worst the
core has just begun the longest instruction of a task: a division, or an access across two pages,
which both miss, as does the next fetch. The task may have a lower priority than the analyzed one.
The entry ends with the first instruction of a task, or with the kernel's nap, after which the next
entry begins. Paths are computed in the linked program (tile/cycle_bounds.py), whose loops
over tasks are unrolled. Each access counts as one of the window that hits. Misses of the kernel's
pages are not part of it: the analysis has them.
"""

import functools
from pathlib import Path

import capstone
from elftools.elf.elffile import ELFFile

from tautochrone.machine.longest_path import NEVER, Code
from tautochrone.errors import TauError
from tautochrone.tile.cycle_bounds import (
    ARITHMETIC_CYCLES,
    INTERRUPT_CYCLES,
    TIMER_OFFSET_BYTES,
    TRAP_CYCLES,
    WFI,
    CyclePaths,
    naps,
)
from tautochrone.tlb.response import EntryCycles

VECTORS = "tau_tasks_vectors"
HANDLER, REPORT = "tau_tasks_exception", "tau_tasks_report_job"
WINDOW_ANSWER_CYCLES = 2  # A hit, and the frame.
WAKE_CYCLES = 10  # More than from the timer's cycle to the instruction after a nap.
AHEAD_CYCLES = 3  # Words that a task had fetched ahead of its interruption (tile/fetching.py).
# Fetching the task's next instruction, across two words, and the words behind it once more.
FETCH_CYCLES = WINDOW_ANSWER_CYCLES + 1 + AHEAD_CYCLES
MISSES_MAX = 3  # Of a task's last instruction.
STRETCH_CYCLES = INTERRUPT_CYCLES + FETCH_CYCLES  # Of them, those between kernel's instructions.


class EntryPaths(CyclePaths):
    """Paths of the kernel: its stack lies in the window too."""

    def __init__(self, code: Code) -> None:
        super().__init__(code, WINDOW_ANSWER_CYCLES, {})

    def access(self, insn: capstone.CsInsn) -> int:
        """As one of the window, whatever it is."""
        return 1 + self.window_answer


def entry_cycles(program: Path, miss_cycles: int) -> EntryCycles:
    """The most cycles of an entry, where a miss takes so many more.

    Raises TauError if the program's kernel has no bound.
    """
    with program.open("rb") as file:
        text = ELFFile(file).get_section_by_name(".text")
        return _entry_cycles(program, text.data() if text else b"", miss_cycles)


@functools.lru_cache(maxsize=32)
def _entry_cycles(program: Path, _text: bytes, miss_cycles: int) -> EntryCycles:
    """Programs with the same text have the same paths, so they are computed once."""
    code = Code(program)
    if VECTORS not in code.symbols:
        raise TauError(f"{program} has no kernel of tasks")
    paths = EntryPaths(code)
    paths.charged |= dict.fromkeys(naps(code), 0)  # An entry ends there.
    access = 1 + 2 * WINDOW_ANSWER_CYCLES + MISSES_MAX * miss_cycles
    instruction = max(*ARITHMETIC_CYCLES.values(), access)
    vectors = code.symbols[VECTORS]
    by_timer = instruction + INTERRUPT_CYCLES + paths.from_address(vectors + TIMER_OFFSET_BYTES)
    by_nap = [WAKE_CYCLES + paths.from_address(nap + len(WFI)) for nap in naps(code)]
    return EntryCycles(
        release=max(by_timer, *by_nap) + FETCH_CYCLES,
        call=TRAP_CYCLES + paths.from_address(vectors) + FETCH_CYCLES,
        reading=TRAP_CYCLES + _to_the_reading(code),
    )


def _to_the_reading(code: Code) -> int:
    """From a task's call to the call of the function that gets the clock's value."""
    paths = EntryPaths(code)
    start = code.symbols[HANDLER]
    end = min(address for address in code.names if address > start)
    sites = paths.sites(code.symbols[REPORT])
    if not all(start <= site < end for site in sites):
        raise TauError(f"{REPORT} is not called by {HANDLER} itself")
    ends = [site + paths.instruction(site).size for site in (*sites, *paths.sites(start))]
    paths.charged |= dict.fromkeys([code.symbols[REPORT], *ends], 0)
    # Other paths leave the handler, or come to a nap, without a report.
    leaving = paths.leaving(range(start, end))
    paths.charged |= dict.fromkeys([*leaving, *naps(code)], NEVER)
    return paths.from_address(code.symbols[VECTORS])

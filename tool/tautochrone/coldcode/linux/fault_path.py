"""What a linked kernel executes to load a page of cold code, which must not be cold itself.

check(Path("vmlinux"))     # TauError names the way to the first cold instruction
"""

from __future__ import annotations

from pathlib import Path

from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.linux import flash
from tautochrone.coldcode.resident import Paths, Walk, check_resident

ENTRY, HANDLER = "handle_exception", "do_page_fault"
# Called for interrupts, and for faults that were not at cold code.
BEYOND = frozenset({"do_irq", "irqentry_enter", "handle_page_fault", "irqentry_exit"})


def check(vmlinux: Path) -> Walk:
    """Walk from the entry of traps to the pager and back. Raises TauError if any of it is cold."""
    symbols = flash.symbols_of(vmlinux)
    cold = (symbols["tau_cold_start"].address, symbols["tau_cold_end"].address)
    return check_resident(read_kernel(vmlinux), Paths([ENTRY], {ENTRY: [HANDLER]}, BEYOND), [cold])

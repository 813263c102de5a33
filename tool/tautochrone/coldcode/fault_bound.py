"""Bounds of a fault at cold code in a linked kernel: its longest path, by policy.

bound = fault_bound(read_kernel(Path("vmlinux")), "round-robin")  # None without our pager
"""

from typing import NamedTuple

from tautochrone.code.bounds import NEVER, bound_instructions
from tautochrone.coldcode.kernel import Kernel

PAGER, READING = "tau_cold_fault", "tau_cold_read_page"
# A page is copied in rounds of 128 bytes. Packed pages and waiting have bounds of their own.
ROUNDS = {"tau_sv39_code_read": 32}
FROM_FLASH = {"tau_cold_read_packed": NEVER, "tau_cold_wait": NEVER}
VISIT = "tau_sv39_code_visit"
VISITING = ("nru", "aging")


class FaultBound(NamedTuple):
    """The most instructions of a fault, without and with reading the page from flash."""

    without_reading: int
    with_reading: int


def fault_bound(kernel: Kernel, policy: str) -> FaultBound | None:
    """The bound of the pager in KERNEL. Policies that need no accessed bits visit none."""
    if PAGER not in kernel.symbols:
        return None
    charges = FROM_FLASH | ({} if policy in VISITING else {VISIT: NEVER})
    without_reading = bound_instructions(kernel.path, PAGER, charges | {READING: 0}, ROUNDS)
    with_reading = bound_instructions(kernel.path, PAGER, charges, ROUNDS)
    return FaultBound(without_reading, with_reading)

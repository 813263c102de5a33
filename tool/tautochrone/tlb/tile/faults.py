"""What a task did wrong, in words: an access outside its pages, below its stack above all."""

from __future__ import annotations

from tautochrone.tlb.partition import STACK
from tautochrone.tlb.tile.records import Fault
from tautochrone.tlb.tile.system import PAGE_BYTES, TileTask

FETCHES, LOADS, STORES, CALL = (0, 1), (4, 5), (6, 7), 8  # mcause
DEEDS = {2: "an illegal instruction", 3: "a breakpoint"}
LARGE_FRAME = "raise stack_bytes, or move its arrays to globals"


def told(task: TileTask, fault: Fault) -> str:
    """For people: what, where, and how far below the stack if that is why."""
    if fault.cause == CALL:
        return "it returned, or called what the kernel does not have"
    for causes, verb in ((FETCHES, "fetched from"), (LOADS, "loaded from"), (STORES, "stored to")):
        if fault.cause in causes:
            return f"it {verb} {fault.address:#x}, {_place(task, fault.address)}"
    return DEEDS.get(fault.cause, f"an exception of cause {fault.cause}")


def _place(task: TileTask, address: int) -> str:
    stack = task.run_of(STACK)
    reach = max(PAGE_BYTES, stack.size_bytes)  # of a frame that is larger than the page below
    if stack.start - reach <= address < stack.start:
        return (
            f"{stack.start - address:,} bytes below its stack of {stack.size_bytes:,} bytes:"
            f" {LARGE_FRAME}"
        )
    return "where it may not"

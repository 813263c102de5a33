"""How near calls of TLSF and of the budgeted heap come to what docs/spec/bounds.md states.

Method: the longest paths of core/tests/heap/worst_case.py, on the emulated processors.
"""

from pathlib import Path

import pytest

from core.tests.heap.worst_case import worst_case_operations
from tautochrone.machine.core_build import Build
from tautochrone.plan.file import Plan, PlanClass
from tautochrone.replay.emulator import count
from testing.random_trace import ALIGNED_ALLOC, FREE, MALLOC, REALLOC, Event, write_events

HEAP_BYTES = 65536
OPS = {"malloc": MALLOC, "aligned_alloc": ALIGNED_ALLOC, "realloc": REALLOC, "free": FREE}
# The most instructions between a bound and what is reached, over all builds.
BELOW_MAX = {
    "tlsf": {"malloc": 9, "free": 6, "aligned_alloc": 12},
    "budget": {"malloc": 35, "free": 6, "aligned_alloc": 12},
}
# One bucket, which hardly any object gets: the others come from the shared region.
PLAN = Plan((PlanClass(24, 1),), HEAP_BYTES, "replayed", 0.0, layout="32")


def write_worst_case(path: Path, check_level: int) -> Path:
    """The calls as a recording, whose slots are numbered in the order of their first use."""
    slots: dict[int, int] = {}
    unused: list[int] = []
    events: list[Event] = []
    for op, number, size_bytes, alignment in worst_case_operations(HEAP_BYTES, 32, check_level):
        if op in ("malloc", "aligned_alloc"):
            slots[number] = unused.pop() if unused else len(slots)
        slot = slots[number]
        events.append((OPS[op], slot, size_bytes, max(alignment.bit_length() - 1, 0)))
        if op == "free":
            unused.append(slots.pop(number))
    return write_events(path, events)


@pytest.mark.parametrize("system", BELOW_MAX)
@pytest.mark.parametrize("check_level", [0, 1, 2])
def test_worst_cases_come_near_the_bounds_and_never_above(
    tmp_path: Path, check_level: int, system: str
) -> None:
    trace = write_worst_case(tmp_path / "t.tau", check_level)
    given = (PLAN, 2 * HEAP_BYTES) if system == "budget" else (None, HEAP_BYTES)
    for isa in ("m4", "rv32", "rv32zbb"):
        for optimize in ("-O2", "-Os"):
            counts = count(trace, system, isa, *given, Build(check_level, optimize))
            below = {verb: counts[verb].bound - counts[verb].max for verb in OPS}
            print(isa, optimize, below)
            assert min(below.values()) >= 0
            assert all(below[verb] <= most for verb, most in BELOW_MAX[system].items())
            if check_level == 0 and (isa, optimize) != ("rv32", "-Os"):
                assert below["free"] == 0
                assert below["malloc"] == 0 or system == "budget"

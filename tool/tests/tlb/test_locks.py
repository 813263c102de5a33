"""What a heap's lock, and an interrupt handler's pages, cost in TLB entries, by their place.

Method: the golden simulator, at the places of a plan. Each job calls its heap twelve times: the
lock's word, stack, globals, a page of the heap, and the lock again. A handler runs before each job.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from model.tlb_color.simulator import LRU, Simulator
from tautochrone.tlb.partition import GLOBALS, STACK, Partition
from testing.modelled import model_geometry
from tool.tests.tlb.task_files import KERNEL, PAGE, pages_of, task
from tool.tests.tlb.test_planner import TILE, planned

DESIGN = Path(__file__).resolve().parents[3] / "docs/design/tlb_color.md"
JOBS, CALLS = 20, 12
TASK, NEIGHBOR, HANDLER = range(3)
SETS = 16


def told(found: Partition, lock: int, handler: Sequence[int]) -> str:
    """Misses of a job of the task and of one of its neighbor; evictions across in both."""
    simulator = Simulator(model_geometry(found.geometry), LRU, 1)
    for job in range(JOBS + 1):
        if job == 1:  # all is warm
            simulator.misses.clear()
            simulator.evictions.clear()
        for owner in (TASK, NEIGHBOR):
            for page in handler:
                simulator.access(HANDLER, page, PAGE)
            heap = pages_of(found, owner)
            (stack,), (own,) = pages_of(found, owner, STACK), pages_of(found, owner, GLOBALS)
            for call in range(CALLS):
                used = lock if owner == TASK else own  # the neighbor's lock is its own
                for page in (used, stack, own, heap[call % len(heap)], used):
                    simulator.access(owner, page, PAGE)
    misses = " | ".join(f"{simulator.misses[owner] / JOBS:g}" for owner in (TASK, NEIGHBOR))
    return f"{misses} | {simulator.cross_count / JOBS:g}"


@pytest.mark.parametrize("mode", ["no-miss", "isolated"])
def test_where_locks_and_handlers_should_be(tmp_path: Path, mode: str) -> None:
    """The design's table. Only a page that the plan counts, in sets that hold all entries, costs
    nobody a miss."""
    crowded = 'mode = "isolated"\nsets = [{ array = "data", count = 1 }]'
    heap, more = ("heap_bytes = 8192", "") if mode == "no-miss" else ("heap_bytes = 16384", crowded)
    found = planned(tmp_path, TILE[0], task("a"), task("b", heap, more), KERNEL).partition
    kernel = [*pages_of(found, HANDLER, STACK), *pages_of(found, HANDLER, GLOBALS)]
    (own,) = pages_of(found, TASK, GLOBALS)
    beside = [own + SETS * PAGE * far for far in (4, 6)]  # in the task's set, and not planned
    rows = {
        "lock among the task's globals": (own, kernel),
        "lock in a page of the kernel": (kernel[-1], kernel),
        "lock in a page of the neighbor's heap": (pages_of(found, NEIGHBOR)[0], kernel),
        "lock in a page that the plan does not count, in the task's set": (beside[0], kernel),
        "handler with two such pages in the task's set": (own, beside),
    }
    written = DESIGN.read_text(encoding="utf-8").splitlines()
    for name, (lock, handler) in rows.items():
        row = f"| {name} | {mode} | {told(found, lock, handler)} |"
        assert row in written, row

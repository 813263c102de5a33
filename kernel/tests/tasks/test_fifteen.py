"""Fifteen tasks and their kernel on a TLB of sixteen sets: one each [P4-14, P4-25].

In its set each task has its stack, its globals, its code and two pages of heap, all of it touched
by every job. The kernel has its stack and its state in the sixteenth.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel.tests.tasks.task_sets import system, walker, walker_arguments
from tautochrone.tlb.tile import shape, simulation
from testing import placing
from tautochrone.tlb.tile.entry_bound import entry_cycles
from tautochrone.tlb.tile.simulation import Records

TASKS = 15
PERIOD, LONGER = 70_000, 9_000
JOB_CYCLES = 600
RUN_CYCLES = 1_600_000
JOBS_MIN = 177  # with the warm-ups
ANY_SETS = range(16)
SLACK_MAX = 250  # what the bound of a way through the kernel may be above the longest that is seen


def run(
    folder: Path, text: str, colored: bool = True, kernel_colored: bool = True
) -> Records:
    """Colored: task i owns set i, the kernel set 0. Else the lowest pages of equal windows."""
    tlb = shape.parsed(text)
    geometry = tlb.geometry()
    tasks = []
    for number in range(1, TASKS + 1):
        own = placing.sets_of(geometry, (number,) if colored else ANY_SETS)
        mode = "no-miss" if colored else "isolated"
        place = placing.place(geometry, number, own, mode=mode)
        period = PERIOD + LONGER * number
        arguments = walker_arguments(2, 2, JOB_CYCLES)
        tasks.append(walker(f"t{number}", period, 1000 * number, arguments, place))
    kernel_sets = (0,) if kernel_colored else ANY_SETS
    made = system(geometry, tasks, RUN_CYCLES, kernel_sets, is_joint=colored)
    found = simulation.simulate(made, tlb, simulation.builder(folder))
    assert found.faults == []
    assert len(found.jobs) >= JOBS_MIN
    assert {job.task for job in found.jobs if job.number > 5} == set(range(TASKS))
    return found


def misses(found: Records) -> int:
    """Misses of all jobs after the warm-ups, in every TLB."""
    return sum(sum(job.misses) for job in found.jobs if job.number > 0)


@pytest.mark.parametrize("text", ["16x4", pytest.param("16x4+128x4", marks=pytest.mark.slow)])
def test_nobody_misses(tmp_path: Path, text: str) -> None:
    """Not once after the warm-up, and nobody evicts anything, the kernel included. No way through
    the kernel is longer than its bound."""
    found = run(tmp_path, text)
    assert misses(found) == 0
    assert found.evictions == {}
    longest = max(entry.cycles for entry in found.entries)
    program, taken = tmp_path / "kernel.elf", shape.parsed(text).miss_cycles
    bound = entry_cycles(program, taken)
    assert longest <= bound.most <= longest + SLACK_MAX
    # A lower task's last instruction may miss for each half of an access, and for the next fetch.
    assert entry_cycles(program, 100).release == entry_cycles(program, 99).release + 3


def test_an_uncolored_kernel_is_noise(tmp_path: Path) -> None:
    """The kernel's two pages lie in sets of two tasks, which are full: these and no others miss."""
    found = run(tmp_path, "16x4", kernel_colored=False)
    assert misses(found) > 0
    assert {job.task for job in found.jobs if job.number > 0 and sum(job.misses)} == {0, 1}
    assert {(by, of) for _, by, of in found.evictions} >= {(0, 1), (0, 2), (1, 0), (2, 0)}


def test_without_colors_tasks_evict_each_other(tmp_path: Path) -> None:
    """Windows of equal alignment put the same pages of all into the same sets."""
    found = run(tmp_path, "16x4", colored=False, kernel_colored=False)
    assert misses(found) > misses(run(tmp_path, "16x4", kernel_colored=False))
    assert found.cross_evictions > 0

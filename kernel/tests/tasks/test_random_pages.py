"""The paper's second synthetic tasks: random pages of a heap, colored or not [P4-18, P4-19].

T1 (1, 2, 0.385 ms) and T2 (0, 16, 7.38 ms) allocate 32 objects of almost a page, choose 14 of them
at random, and write to these. Colored: the heap of each has the 28 pages of seven sets, its own
pages an eighth set, which T1 shares with the kernel, two pages each. Like malloc: one heap for
both, every other page the lowest of its window.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import pstdev

import pytest

from kernel.tests.tasks.task_sets import system, walker, walker_arguments
from tautochrone.tlb.tile import shape, simulation
from testing import placing
from testing.changed_kernels import ONE_HEAP, ChangedBuilder
from tautochrone.tlb.tile.simulation import Records

MS = 5_000
HYPERPERIODS = 2
OBJECTS, WALKED, OBJECT_BYTES = 32, 14, 3400
OWN_SETS = ((0,), (8,))
HEAP_SETS = (range(1, 8), range(9, 16))
ANY_SETS = range(16)
HEAP_PAGES = 28
SHARED_PAGES = 56


def run(folder: Path, colored: bool, seed: int) -> Records:
    """Two hyperperiods."""
    tlb = shape.parsed("16x4", latency=2)
    geometry = tlb.geometry()
    places = []
    for number in (0, 1):
        own = placing.sets_of(geometry, OWN_SETS[number] if colored else ANY_SETS)
        heap = placing.sets_of(geometry, HEAP_SETS[number] if colored else ANY_SETS)
        mode = "no-miss" if colored else "isolated"
        count = HEAP_PAGES if colored else SHARED_PAGES
        places.append(placing.place(geometry, number + 1, own, heap, heap_pages=count, mode=mode))
    arguments = [
        walker_arguments(OBJECTS, WALKED, milliseconds * MS, 1 + number, OBJECT_BYTES)
        for number, milliseconds in enumerate((0.385, 7.38))
    ]
    tasks = [
        walker("t1", 2 * MS, MS, arguments[0], places[0]),
        walker("t2", 16 * MS, 0, arguments[1], places[1]),
    ]
    if not colored:
        tasks[1] = replace(tasks[1], place=placing.without_heap(places[1]))
    kernel_sets = OWN_SETS[0] if colored else ANY_SETS
    cycles = HYPERPERIODS * 16 * MS
    made = system(geometry, tasks, cycles, kernel_sets, is_joint=colored, seed=seed)
    builder = ChangedBuilder(folder) if colored else ChangedBuilder(folder, *ONE_HEAP)
    found = simulation.simulate(made, tlb, builder)
    assert found.faults == []
    assert [len(found.of(task)) for task in (0, 1)] == [1 + 8 * HYPERPERIODS, 1 + HYPERPERIODS]
    return found


def misses(found: Records) -> list[tuple[int, ...]]:
    """Misses of each task's jobs after the warm-up."""
    return [
        tuple(job.first_level_misses for job in found.of(task) if job.number > 0)
        for task in (0, 1)
    ]


@pytest.mark.parametrize("seeds", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_figures_9_to_12(tmp_path: Path, seeds: int) -> None:
    """Colored nobody misses, whatever was chosen; with one heap both do, each time differently."""
    totals: tuple[list[int], list[int]] = ([], [])
    for seed in range(1, seeds + 1):
        colored = run(tmp_path, True, seed)
        assert set(sum(misses(colored), ())) == {0}
        assert colored.cross_evictions == 0
        for total, each in zip(totals, misses(run(tmp_path, False, seed)), strict=True):
            total.append(sum(each))
    for total in totals:
        assert sum(total) > 0
        assert pstdev(total) > 0

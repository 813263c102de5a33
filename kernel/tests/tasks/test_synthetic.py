"""The paper's first synthetic tasks on the tile, counted by the unit [P4-16, P4-17].

T1 is released at 1, 3, 5, … ms and takes 0.392 ms; T2 at 0, 16, … ms and takes 7.88 ms. Each walks
four pages: of one set of four ways, or of a set each. A millisecond is as many cycles as one likes,
since misses follow from preemptions.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel.tests.tasks.task_sets import system, walker, walker_arguments
from tautochrone.tlb.tile import shape, simulation
from testing import placing
from tautochrone.tlb.tile.simulation import Records

MS = 20_000
HYPERPERIODS = 2
OWN_SETS = ((1,), (2,))
SAME, OTHER = ((3,), (3,)), ((3,), (4,))


def run(folder: Path, heap_sets: tuple[tuple[int, ...], ...], latency: int) -> Records:
    """Two hyperperiods."""
    tlb = shape.parsed("16x4", latency=latency)
    geometry = tlb.geometry()
    places = [
        placing.place(
            geometry,
            number + 1,
            placing.sets_of(geometry, own),
            placing.sets_of(geometry, heap),
            heap_pages=4,
        )
        for number, (own, heap) in enumerate(zip(OWN_SETS, heap_sets, strict=True))
    ]
    tasks = [
        walker("t1", 2 * MS, MS, walker_arguments(4, 4, 0.392 * MS), places[0]),
        walker("t2", 16 * MS, 0, walker_arguments(4, 4, 7.88 * MS), places[1]),
    ]
    cycles = HYPERPERIODS * 16 * MS
    joint = heap_sets == OTHER
    made = system(geometry, tasks, cycles, is_joint=joint)
    found = simulation.simulate(made, tlb, simulation.builder(folder))
    assert found.faults == []
    assert [len(found.of(task)) for task in (0, 1)] == [1 + 8 * HYPERPERIODS, 1 + HYPERPERIODS]
    return found


def misses(found: Records, task: int) -> list[int]:
    """Misses of each job after the warm-up."""
    return [job.first_level_misses for job in found.of(task)[1:]]


def test_figure_7(tmp_path: Path) -> None:
    """In one set T1 and T2 reload their four pages after each other; in two sets nobody does."""
    same = run(tmp_path, SAME, 2)
    assert misses(same, 0) == [4, 4, 4, 4, 4, 4, 0, 0] * HYPERPERIODS
    assert misses(same, 1) == [20, 24]
    assert (same.own_evictions, same.cross_evictions) == (0, 4 * (6 + 6) + 20 + 24 + 4)
    other = run(tmp_path, OTHER, 2)
    assert misses(other, 0) == [0] * 8 * HYPERPERIODS
    assert misses(other, 1) == [0] * HYPERPERIODS
    assert other.evictions == {}


@pytest.mark.parametrize("latency", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_figure_8(tmp_path: Path, latency: int) -> None:
    """A job of T1 takes as much longer as the page table for four pages, and no cycle more."""
    same = [job.cycles for job in run(tmp_path, SAME, latency).of(0)[1:]]
    (alone,) = {job.cycles for job in run(tmp_path, OTHER, latency).of(0)[1:]}
    more = [cycles - alone for cycles in same]
    assert more == [4 * latency * (job < 6) for job in range(8)] * HYPERPERIODS


def test_the_walker_takes_its_time(tmp_path: Path) -> None:
    """0.392 and 7.88 ms, within 2 %."""
    found = run(tmp_path, OTHER, 2)
    for task, milliseconds in ((0, 0.392), (1, 7.88)):
        for job in found.of(task)[1:]:
            assert abs(job.cycles / (milliseconds * MS) - 1) < 0.02

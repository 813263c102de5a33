"""Pointers that are not a task's own, systems that the kernel refuses, jobs that are late."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from kernel.tests.tasks.task_sets import ROOT, system
from tautochrone.errors import TauError
from tautochrone.facts import status_format as status
from tautochrone.tlb.partition import HEAP, Run
from tautochrone.tlb.tile import shape, simulation
from testing import placing
from tautochrone.tlb.tile.simulation import Records
from tautochrone.tlb.tile.system import PAGE_BYTES, System, TileTask

PROGRAMS = ROOT / "kernel/tests/tasks"
TLB = shape.parsed("16x4")
GEOMETRY = TLB.geometry()
PERIOD = 20_000
WALKER = str(Path(__file__).resolve().parents[2] / "systems/tasks/walker.c")
RUN_CYCLES = 3 * PERIOD


def two(programs: Sequence[str], arguments: Sequence[tuple[int, ...]]) -> System:
    """Two tasks with two sets each: the code of a heap's calls takes two pages."""
    tasks = []
    for number, (program, words) in enumerate(zip(programs, arguments, strict=True)):
        own = placing.sets_of(GEOMETRY, (2 * number + 2, 2 * number + 3))
        place = placing.place(GEOMETRY, number + 1, own, mode="no-miss", code_pages=2)
        path = PROGRAMS / program
        tasks.append(TileTask(f"t{number}", PERIOD, 1000 * number, path, words, place))
    return system(GEOMETRY, tasks, RUN_CYCLES)


def run(folder: Path, made: System) -> Records:
    """Run on 16x4."""
    return simulation.simulate(made, TLB, simulation.builder(folder))


def test_a_heap_takes_its_own_pointers_only(tmp_path: Path) -> None:
    """Foreign, other tasks' and doubled ones are refused, in every job, and change nothing."""
    between = placing.window_of(2) - placing.window_of(1)
    found = run(tmp_path, two(["pointers.c"] * 2, [(between,), (-between,)]))
    assert found.faults == []
    foreign, doubled = status.FOREIGN_POINTER, status.DOUBLE_FREE
    assert len(found.jobs) == 8
    assert {job.value for job in found.jobs} == {foreign | foreign << 8 | doubled << 16}


def with_task(made: System, number: int, **more: object) -> System:
    """The system with a task that is otherwise."""
    tasks = list(made.tasks)
    tasks[number] = replace(tasks[number], **more)
    return replace(made, tasks=tuple(tasks))


def with_heap(made: System, number: int, **more: object) -> System:
    """The system with a heap that is otherwise."""
    return with_task(made, number, place=replace(made.tasks[number].place, **more))


def pages(made: System, count: int, **more: object) -> System:
    """The system with a heap of so many pages."""
    place = made.tasks[1].place
    run = Run(HEAP, place.window_start, count * PAGE_BYTES)
    return with_task(made, 1, place=replace(placing.with_runs(place, [run]), **more))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda made: with_task(made, 1, period_cycles=PERIOD - 1), "order of their periods"),
        (lambda made: with_task(made, 0, period_cycles=0), "order of their periods"),
        (lambda made: pages(made, 8), "heap are refused"),
        (lambda made: with_heap(made, 1, sets=placing.sets_of(GEOMETRY, (2, 3))), "are refused"),
        (lambda made: with_heap(made, 1, window_start=made.tasks[0].place.window_start), "refused"),
        (lambda made: pages(made, 99, mode="isolated"), "heap are refused"),
        (lambda made: replace(made, kernel_stack=made.kernel_state), "assertion failed"),
    ],
)
def test_the_kernel_refuses(
    tmp_path: Path, change: Callable[[System], System], message: str
) -> None:
    """Periods out of order, sets and windows with two owners, heaps beyond their sets or ways."""
    made = change(two(["pointers.c"] * 2, [(0,), (0,)]))
    with pytest.raises(TauError, match=message):
        run(tmp_path, made)


def test_jobs_that_are_late_count_from_their_own_release(tmp_path: Path) -> None:
    """A task whose jobs take longer than its period: each ends later by its time less a period.

    The one of lower priority never runs again, and is released meanwhile.
    """
    made = two([WALKER] * 2, [(2, 3000, 2, 0, 900), (2, 3000, 2, 0, 1)])
    found = run(tmp_path, replace(made, run_cycles=12 * PERIOD))
    late = found.of(0)[1:]
    assert len(late) > 5 and len(found.of(1)) == 1
    assert PERIOD < late[0].cycles <= late[0].response_cycles
    kernel = 3 * max(each.cycles for each in found.entries)
    for before, after in pairwise(late):
        later = after.response_cycles - before.response_cycles
        assert after.cycles - PERIOD <= later <= after.cycles - PERIOD + kernel


def test_releases_behind_the_run_never_come(tmp_path: Path) -> None:
    """Also if their cycle needs more than 32 bits: then they would seem to be long ago."""
    latest = (1 << 32) - 1
    made = two(["pointers.c"] * 2, [(0,), (0,)])
    found = run(tmp_path, with_task(made, 1, period_cycles=latest, phase_cycles=0))
    assert [len(found.of(task)) for task in (0, 1)] == [4, 2]
    found = run(tmp_path, with_task(made, 1, period_cycles=latest, phase_cycles=latest))
    assert [len(found.of(task)) for task in (0, 1)] == [4, 1]

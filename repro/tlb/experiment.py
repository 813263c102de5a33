"""Runs a task set on the tile: all pages in sets of their own, or all where they happen to be.

- *Colored*: stacks and globals of two tasks fill a set, and kernel pages lie in another one. The
  rest is dealt to the heaps in turn. So a task never has two adjacent sets, and an object of the
  first size lies in a page of its own.
- *malloc*: one heap serves all tasks. Each task has its stack and globals in the lowest pages of
  its window, as the kernel has.
 Each task allocates as many
objects as the paper's does, colored at most as many as its sets have ways, and uses some at random.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import Any

from repro.tlb.benchmarks import arguments, program
from repro.tlb.task_sets import TaskSet
from tautochrone.tlb.geometry import Geometry
from tautochrone.tlb.partition import Principal
from tautochrone.tlb.tile import shape, simulation
from testing import placing
from testing.changed_kernels import ONE_HEAP, Change, ChangedBuilder
from tautochrone.tlb.tile.code import Builder
from tautochrone.tlb.tile.simulation import Records
from tautochrone.tlb.tile.system import System, TileTask

SHAPE, LATENCY = "16x4", 2
SETS, WAYS = 16, 4
KERNEL_SET = 0
COLORED_OBJECT_BYTES = 3000  # the first page also has the control block
SHARED_OBJECT_BYTES = 4000
SHARED_PAGES = 72
REPEATS_MEASURED = (1, 3)
FIRST_JOBS_MS = 40  # in which each task ends a job that repeats its work as often
TASKS_IN_A_SET = 2  # stack and globals of two tasks fill a set of four ways


class Experiment:
    """A task set of which a millisecond is so many cycles, and the work of a job that takes its
    execution, as measured."""

    def __init__(
        self,
        task_set: TaskSet,
        cycles_per_ms: int,
        folder: Path,
        heap_sets: Sequence[Sequence[int]] | None = None,
        latency: int = LATENCY,
    ) -> None:
        self.rows = task_set.rows
        self.task_set = task_set
        self.cycles_per_ms = cycles_per_ms
        self.heap_sets = heap_sets or dealt_sets(len(self.rows))
        self.builder = ChangedBuilder(folder)
        self.tlb = shape.parsed(SHAPE, latency=latency)
        self.geometry = self.tlb.geometry()
        self.repeats = self._repeats()

    def run(self, colored: bool, seed: int, hyperperiods: int, *changes: Change) -> Records:
        """So many hyperperiods behind the warm-ups, with these changes of the kernel."""
        return self._run(self.repeats, colored, seed, self.cycles_of(hyperperiods), *changes)

    def _run(
        self, repeats: list[int], colored: bool, seed: int, cycles: int, *changes: Change
    ) -> Records:
        if colored:
            places = colored_places(self.geometry, self.heap_sets)
            kernel = placing.sets_of(self.geometry, (KERNEL_SET,))
        else:
            places = shared_places(self.geometry, len(self.rows))
            kernel = placing.all_sets(self.geometry)
            changes = (*changes, *ONE_HEAP)
        tasks = [
            self._task(number, repeats[number], places[number], colored, seed)
            for number in range(len(self.rows))
        ]
        return self.simulated(tasks, placing.kernel_pages(self.geometry, kernel), cycles, *changes)

    def simulated(
        self, tasks: Sequence[TileTask], kernel: tuple[int, int], cycles: int, *changes: Change
    ) -> Records:
        """A run of these tasks, with the kernel's state and stack there, and changes of it."""
        self.builder.changes = changes
        return simulated(tasks, kernel, cycles, self.tlb, self.builder)

    def cycles_of(self, hyperperiods: int) -> int:
        """Of so many hyperperiods."""
        return round(hyperperiods * self.task_set.hyperperiod_ms * self.cycles_per_ms)

    def sharing_tasks(self, places: Sequence[Principal], seed: int) -> list[TileTask]:
        """The tasks at these places, as they are with one heap of all."""
        return [
            self._task(number, self.repeats[number], place, False, seed)
            for number, place in enumerate(places)
        ]

    def _task(
        self, number: int, repeats: int, place: Principal, colored: bool, seed: int
    ) -> TileTask:
        row = self.rows[number]
        objects = self.task_set.objects
        if colored:
            objects = min(objects, WAYS * len(self.heap_sets[number]))
        object_bytes = COLORED_OBJECT_BYTES if colored else SHARED_OBJECT_BYTES
        return TileTask(
            f"t{number + 1}",
            round(row.period_ms * self.cycles_per_ms),
            round(row.phase_ms * self.cycles_per_ms),
            program(row.program),
            arguments(
                objects,
                object_bytes,
                row.pages,
                len(self.rows) * seed + number + 1,
                repeats,
                row.numbers_log2,
            ),
            place,
        )

    def _repeats(self) -> list[int]:
        """How often each job repeats its work, by what a repeat costs more than none."""
        once, thrice = (
            self._run([repeats] * len(self.rows), True, 1, self._cycles_of_one_job())
            for repeats in REPEATS_MEASURED
        )
        found = []
        for number, row in enumerate(self.rows):
            low, high = (run.of(number)[1].cycles for run in (once, thrice))
            each = (high - low) / (REPEATS_MEASURED[1] - REPEATS_MEASURED[0])
            wanted = row.execution_ms * self.cycles_per_ms
            found.append(max(1, round((wanted - (low - each)) / each)))
        return found

    def _cycles_of_one_job(self) -> int:
        latest = max(row.phase_ms for row in self.rows)
        return round((latest + FIRST_JOBS_MS) * self.cycles_per_ms)


def simulated(
    tasks: Sequence[TileTask],
    kernel: tuple[int, int],
    cycles: int,
    tlb: shape.Shape,
    builder: Builder,
) -> Records:
    """A run of tasks, with the kernel's state and stack at these addresses."""
    state, stack = kernel
    system = System(tlb.geometry(), tuple(tasks), state, stack, cycles, is_joint=False)
    found = simulation.simulate(system, tlb, builder)
    if found.faults:
        raise RuntimeError(f"a task was stopped: {found.faults[0]}")
    return found


def dealt_sets(tasks: int) -> list[Sequence[int]]:
    """The sets of each task's heap: behind the kernel's, before the sets of stacks and globals."""
    heap_sets = range(KERNEL_SET + 1, SETS - -(-tasks // TASKS_IN_A_SET))
    return [heap_sets[number::tasks] for number in range(tasks)]


def colored_places(geometry: Geometry, heap_sets: Sequence[Sequence[int]]) -> list[Principal]:
    """Each task's pages: stacks and globals in the last sets, all pages that a heap can have."""
    places = []
    for number, sets in enumerate(heap_sets):
        own = placing.sets_of(geometry, (SETS - 1 - number // TASKS_IN_A_SET,))
        heap = placing.sets_of(geometry, sets)
        pages = WAYS * len(sets)
        places.append(placing.place(geometry, number + 1, own, heap, pages, "no-miss"))
    return places


def shared_places(geometry: Geometry, tasks: int) -> list[Principal]:
    """Each task's pages in any sets, and one heap of all, which the first task's window has."""
    anywhere = placing.all_sets(geometry)
    places = [
        placing.place(geometry, number + 1, anywhere, heap_pages=SHARED_PAGES)
        for number in range(tasks)
    ]
    return [places[0], *map(placing.without_heap, places[1:])]


def misses(found: Records, task: int) -> list[int]:
    """Of the data TLB, by each job behind the warm-up."""
    return [job.misses[1] for job in found.of(task) if job.number > 0]


def measured(
    task_set: TaskSet, cycles_per_ms: int, seeds: int, hyperperiods: int
) -> list[dict[str, Any]]:
    """For each task: misses of its jobs by seed, colored and with malloc, and their cycles."""
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment(task_set, cycles_per_ms, Path(folder))
        runs = {
            name: [experiment.run(colored, seed, hyperperiods) for seed in range(1, seeds + 1)]
            for name, colored in (("colored", True), ("malloc", False))
        }
    return [
        {
            "program": row.program,
            "repeats": experiment.repeats[number],
            **{name: summary(found, number) for name, found in runs.items()},
        }
        for number, row in enumerate(task_set.rows)
    ]


def summary(runs: Sequence[Records], task: int) -> dict[str, Any]:
    """A task's jobs behind the warm-up. A run is a seed; its figure is the mean of its jobs."""
    by_run = [misses(found, task) for found in runs]
    means = [fmean(jobs) for jobs in by_run]
    cycles = [[job.cycles for job in found.of(task)[1:]] for found in runs]
    return {
        "jobs": len(by_run[0]),
        "mean": fmean(means),
        "median": median(means),
        "least": min(means),
        "most": max(means),
        "deviation": pstdev(means),
        "job_most": max(map(max, by_run)),
        "by_job": [fmean(column) for column in zip(*by_run, strict=True)],
        "cycles_least": min(map(min, cycles)),
        "cycles_most": max(map(max, cycles)),
        "cross_evictions": [found.cross_evictions for found in runs],
    }

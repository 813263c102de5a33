"""Where else pages can lie: is it coloring that helps, or any better place than malloc's run has?

- *heap alone*: stacks, globals and kernel are colored; all tasks share one heap, as the paper's
  malloc does.
- *packed*: nothing is colored, but kernel, globals, stacks and heap are adjacent pages, as one
  linker places them.
- *packed, in order*: also each task allocates only the objects that it uses, so that all pages are
  adjacent.
"""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from repro.tlb import synthetic, table1
from repro.tlb.experiment import KERNEL_SET, Experiment, colored_places, misses, shared_places
from repro.tlb.task_sets import FIGURE_9, FIGURE_18, FIGURE_20, TABLE_1, TaskSet, figure_19
from tautochrone.tlb.partition import GLOBALS, HEAP, STACK, Principal
from tautochrone.tlb.partition import Run as PageRun
from testing import placing
from testing.changed_kernels import ONE_HEAP
from tautochrone.tlb.tile.simulation import Records
from tautochrone.tlb.tile.system import PAGE_BYTES

SEEDS = 5
HYPERPERIODS = 1
SETS: dict[str, tuple[TaskSet, int]] = {
    "Figs. 9 to 12": (FIGURE_9, synthetic.MS),
    **{f"Table I, {name} tasks": (TABLE_1[name], table1.MS) for name in ("3", "4")},
    "Fig. 18": (FIGURE_18, table1.MS),
    "Fig. 20": (FIGURE_20, table1.MS),
    "Fig. 19, 6 tasks": (figure_19(6), synthetic.MS),
}
CHOICE = 3  # the place of the seed among a program's arguments
Run = Callable[[Experiment, int], Records]


def as_measured(experiment: Experiment, seed: int) -> Records:
    """One heap, all else in the lowest pages of equally aligned windows."""
    return experiment.run(False, seed, HYPERPERIODS)


def with_heap_of(own: Principal, other: Principal) -> Principal:
    """The pages of OWN, and the heap of the other, in its window and sets."""
    runs = [run for run in own.runs if run.part != HEAP]
    return replace(other, name=own.name, runs=(*runs, *other.runs_of(HEAP)))


def heap_alone(experiment: Experiment, seed: int) -> Records:
    """One heap; all else as in a colored run."""
    geometry = experiment.geometry
    colored = colored_places(geometry, experiment.heap_sets)
    shared = shared_places(geometry, len(colored))
    places = [
        with_heap_of(own, one) if one.runs_of(HEAP) else placing.without_heap(own)
        for own, one in zip(colored, shared, strict=True)
    ]
    kernel = placing.kernel_pages(geometry, placing.sets_of(geometry, (KERNEL_SET,)))
    tasks = experiment.sharing_tasks(places, seed)
    return experiment.simulated(tasks, kernel, experiment.cycles_of(HYPERPERIODS), *ONE_HEAP)


def packed(experiment: Experiment, seed: int, is_in_order: bool = False) -> Records:
    """One heap, in front of it the kernel's pages and the tasks' globals and stacks."""
    shared = shared_places(experiment.geometry, len(experiment.rows))
    end = shared[0].window_start
    state, stack, *own = range(end - (2 * len(shared) + 2) * PAGE_BYTES, end, PAGE_BYTES)
    places = [
        placing.with_runs(
            each, [PageRun(GLOBALS, first, PAGE_BYTES), PageRun(STACK, second, PAGE_BYTES)]
        )
        for each, first, second in zip(shared, own[::2], own[1::2], strict=True)
    ]
    tasks = experiment.sharing_tasks(places, seed)
    if is_in_order:
        used = (row.pages for row in experiment.rows)
        tasks = [
            replace(each, arguments=(count, *each.arguments[1:CHOICE], 0, *each.arguments[4:]))
            for each, count in zip(tasks, used, strict=True)
        ]
    cycles = experiment.cycles_of(HYPERPERIODS)
    return experiment.simulated(tasks, (state, stack), cycles, *ONE_HEAP)


def packed_in_order(experiment: Experiment, seed: int) -> Records:
    """All pages that are used are adjacent."""
    return packed(experiment, seed, is_in_order=True)


RUNS: dict[str, Run] = {
    "malloc": as_measured,
    "heap alone": heap_alone,
    "packed": packed,
    "packed, in order": packed_in_order,
}


def summary(runs: list[Records], tasks: int) -> dict[str, Any]:
    """Misses of all jobs behind the warm-ups, by seed."""
    totals = [sum(sum(misses(found, task)) for task in range(tasks)) for found in runs]
    return {
        "median": median(totals),
        "least": min(totals),
        "most": max(totals),
        "cross_evictions": median(found.cross_evictions for found in runs),
    }


def measure(seeds: int = SEEDS, names: tuple[str, ...] = tuple(SETS)) -> dict[str, Any]:
    """Each task set in each layout."""
    found: dict[str, Any] = {}
    for name in names:
        task_set, cycles_per_ms = SETS[name]
        with tempfile.TemporaryDirectory() as folder:
            experiment = Experiment(task_set, cycles_per_ms, Path(folder))
            found[name] = {
                layout: summary(
                    [run(experiment, seed) for seed in range(1, seeds + 1)], len(task_set.rows)
                )
                for layout, run in RUNS.items()
            }
            colored = [experiment.run(True, 1, HYPERPERIODS)]
            found[name]["colored"] = summary(colored, len(task_set.rows))
    return {"sets": found, "seeds": seeds, "hyperperiods": HYPERPERIODS}

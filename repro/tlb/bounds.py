"""Bounds of responses compared with jobs on the tile: random task sets, released at 0; Fig. 7.

A coin decides whether a set is colored. Tasks walk all pages of their heaps. C is what the work of
a job takes alone, colored: it grows by the same cycles with each walk, which is measured first.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any

from model.tlb_color import response as naive
from repro.tlb.benchmarks import WALKER
from repro.tlb.experiment import KERNEL_SET, WAYS, misses
from repro.tlb.synthetic import HYPERPERIODS, both
from repro.tlb.task_sets import FIGURE_7
from tautochrone.console.output import note
from tautochrone.tlb.planner import plan_partition
from tautochrone.tlb.response import Machine, PeriodicTask, responses
from tautochrone.tlb.run import Choice, run
from tautochrone.tlb.tasks import TaskSet, read_tasks
from tautochrone.tlb.tile import shape, simulation
from tautochrone.tlb.tile.code import Builder
from tautochrone.tlb.tile.entry_bound import entry_cycles

SEED, SETS = 12, 1000
TLB = shape.parsed("16x4", latency=6)
TASKS_LEAST, TASKS_MOST = 3, 6
PERIOD_LEAST, PERIOD_DOUBLINGS = 40_000, 3
SHARE_LEAST, SHARE_MOST = 0.2, 0.8  # of the processor, all tasks together
PAGES_MOST, PAGE_BYTES, OBJECT_BYTES = 4, 4096, 3000
WALKS_MEASURED = (1, 51, 101)
ALONE_CYCLES = 20_000  # more than one of these jobs takes
KERNEL_PAGES = 2
CYCLES_PER_MS = 50_000  # in Fig. 7
NOTED_SETS = 50
HEAD = """\
format = "tautochrone tasks"
version = 1
[kernel]
colored = true
stack_bytes = 4096
data_bytes = 4096
code_bytes = 0
"""


@dataclass(frozen=True)
class Walker:
    """A task that walks its pages so often in each job."""

    period_cycles: int
    pages: int
    walks: int
    cost_cycles: int
    phase_cycles: int = 0


@dataclass(frozen=True)
class Cost:
    """What a job takes without a walk, and each walk more."""

    base_cycles: int
    walk_cycles: int

    def of(self, walks: int) -> int:
        """What a job takes with so many walks."""
        return self.base_cycles + walks * self.walk_cycles


@dataclass(frozen=True)
class Row:
    """A task on the tile: its bound, if it has one, and its longest response."""

    is_colored: bool
    bound_cycles: int | None
    response_cycles: int
    jobs: int


def task_set(walkers: Sequence[Walker], folder: Path) -> TaskSet:
    """The walkers as a file of tasks."""
    text = HEAD
    for number, each in enumerate(walkers):
        text += f"""\
[[task]]
name = "t{number}"
period_cycles = {each.period_cycles}
phase_cycles = {each.phase_cycles}
cost_cycles = {each.cost_cycles}
program = "{WALKER}"
arguments = [{each.pages}, {OBJECT_BYTES}, {each.pages}, 0, {each.walks}]
heap_bytes = {each.pages * PAGE_BYTES}
stack_bytes = {PAGE_BYTES}
globals_bytes = {PAGE_BYTES}
code_bytes = {PAGE_BYTES}
"""
    path = folder / "tasks.toml"
    path.write_text(text, encoding="utf-8")
    return read_tasks(path)


def done_by(
    walkers: Sequence[Walker], is_colored: bool, cycles: int, building: Builder
) -> list[dict[str, Any]]:
    """The jobs of walkers behind their warm-ups, as `tau tlb run` has them."""
    tasks = task_set(walkers, building.folder)
    planned = plan_partition(tasks, TLB.geometry(), not is_colored)
    if planned.misfits:
        raise RuntimeError(f"a task does not fit: {planned.misfits[0]}")
    found = run(tasks, planned.partition, TLB, Choice(cycles), building)
    return [job for job in found["jobs"] if job["number"] > 0]


def cost_of(pages: int, building: Builder) -> Cost:
    """Of jobs that walk so many pages. Each runs while no other one is released."""
    period = (len(WALKS_MEASURED) + 1) * ALONE_CYCLES
    walkers = [
        Walker(period, pages, walks, 1, number * ALONE_CYCLES)
        for number, walks in enumerate(WALKS_MEASURED)
    ]
    low, middle, high = (job["cycles"] for job in done_by(walkers, True, period, building))
    walk, rest = divmod(high - low, WALKS_MEASURED[-1] - WALKS_MEASURED[0])
    if rest or 2 * middle != low + high:
        raise RuntimeError(f"walks of {pages} pages do not all take the same cycles")
    return Cost(low - WALKS_MEASURED[0] * walk, walk)


def costs(building: Builder) -> dict[int, Cost]:
    """By pages."""
    return {pages: cost_of(pages, building) for pages in range(1, PAGES_MOST + 1)}


def random_walkers(chance: Random, known: Mapping[int, Cost]) -> list[Walker]:
    """A task set that uses a random share of the processor, divided at random."""
    count = chance.randint(TASKS_LEAST, TASKS_MOST)
    parts = [chance.expovariate(1) for _ in range(count)]
    share = chance.uniform(SHARE_LEAST, SHARE_MOST) / sum(parts)
    found = []
    for part in parts:
        period = round(PERIOD_LEAST * 2 ** chance.uniform(0, PERIOD_DOUBLINGS))
        pages = chance.randint(1, PAGES_MOST)
        cost = known[pages]
        walks = max(1, round((share * part * period - cost.base_cycles) / cost.walk_cycles))
        found.append(Walker(period, pages, walks, cost.of(walks)))
    return found


def tried(number: int, known: Mapping[int, Cost], building: Builder) -> list[Row]:
    """The tasks of a set. All are released at 0; the run lasts for the longest period."""
    chance = Random(f"{SEED}/{number}")
    is_colored = chance.random() < 0.5
    walkers = random_walkers(chance, known)
    cycles = max(each.period_cycles for each in walkers)
    jobs = done_by(walkers, is_colored, cycles, building)
    rows = []
    for task in dict.fromkeys(job["task"] for job in jobs):
        own = [job for job in jobs if job["task"] == task]
        bound, response = own[0]["bound_cycles"], max(job["response_cycles"] for job in own)
        rows.append(Row(is_colored, bound, response, len(own)))
    return rows


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Bound ÷ longest response, by task."""
    bounded = [(row.bound_cycles, row) for row in rows if row.bound_cycles is not None]
    ratios = [bound / row.response_cycles for bound, row in bounded]
    return {
        "tasks": len(rows),
        "tasks_without_bound": len(rows) - len(bounded),
        "tasks_above_bound": sum(ratio < 1 for ratio in ratios),
        "jobs": sum(row.jobs for _, row in bounded),
        "least": min(ratios),
        "median": median(ratios),
        "most": max(ratios),
        "percentiles": quantiles(ratios, n=100),
    }


def random_sets(sets: int, known: Mapping[int, Cost], building: Builder) -> dict[str, Any]:
    """So many of them: all, and colored and uncolored apart."""
    rows = []
    for number in range(sets):
        rows.append(tried(number, known, building))
        if (number + 1) % NOTED_SETS == 0:
            note(f"bounds: {number + 1} of {sets} sets, seed {SEED}")
    return summaries(rows)


def summaries(sets: Sequence[Sequence[Row]]) -> dict[str, Any]:
    """Of task sets, all, and colored and uncolored apart."""
    kinds = {
        "all": list(sets),
        "colored": [rows for rows in sets if rows[0].is_colored],
        "uncolored": [rows for rows in sets if not rows[0].is_colored],
    }
    return {
        name: {"sets": len(found), **summary([row for rows in found for row in rows])}
        for name, found in kinds.items()
    }


# ---- Fig. 7 --------------------------------------------------------------------------------------


def figure7(known: Mapping[int, Cost], folder: Path) -> dict[str, Any]:
    """Misses of the paper's two tasks, in one set and in two: on the tile, by the analysis at most,
    and by the model job for job."""
    found: dict[str, Any] = {}
    for name, experiment, records in both(CYCLES_PER_MS, TLB.latency, folder):
        sets = experiment.heap_sets
        tasks = [
            PeriodicTask(
                f"T{number + 1}",
                round(row.period_ms * CYCLES_PER_MS),
                known[row.pages].of(experiment.repeats[number]),
                {(0, sets[number][0]): row.pages},
            )
            for number, row in enumerate(FIGURE_7.rows)
        ]
        entry = entry_cycles(experiment.builder.program_path)
        machine = Machine(TLB.miss_cycles, entry, [WAYS], {(0, KERNEL_SET): KERNEL_PAGES})
        bounds = responses(tasks, machine)
        found[name] = {
            "misses": [misses(records, task) for task in (0, 1)],
            "misses_of_model": misses_of_model(tasks, machine),
            "misses_bound": [each.misses for each in bounds],
            "response_most": [
                max(job.response_cycles for job in records.of(task)[1:]) for task in (0, 1)
            ],
            "response_bound": [each.response_cycles for each in bounds],
        }
    return found


def misses_of_model(periodic: Sequence[PeriodicTask], machine: Machine) -> list[list[int]]:
    """By job of each task, behind warm-ups as on the tile."""
    tasks = [
        naive.Task(
            each.period_cycles,
            each.cost_cycles,
            [(*place, way) for place, count in each.entries.items() for way in range(count)],
            round(row.phase_ms * CYCLES_PER_MS),
        )
        for each, row in zip(periodic, FIGURE_7.rows, strict=True)
    ]
    kernel = [(*place, way) for place, count in machine.kernel.items() for way in range(count)]
    entry = machine.entry.release, machine.entry.call, machine.entry.reading
    modeled = naive.Machine(machine.miss_cycles, *entry, machine.safe_ways, kernel)
    cycles = round(HYPERPERIODS * FIGURE_7.hyperperiod_ms * CYCLES_PER_MS)
    jobs = naive.simulate(tasks, modeled, cycles, is_warm=True)
    return [[job.misses for job in jobs if job.task == task] for task in range(len(tasks))]


def measure(sets: int = SETS) -> dict[str, Any]:
    """All of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        building = simulation.builder(folder)
        known = costs(building)
        return {
            "seed": SEED,
            "shape": TLB.name,
            "latency": TLB.latency,
            "sets_asked": SETS,
            "random": random_sets(sets, known, building),
            "figure7": figure7(known, folder),
        }

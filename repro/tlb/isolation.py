"""Who shares sets with whom, on the tile: noisy sets, Corollary 1, one color for equal periods, and
coloring against forgetting [P4-5, P4-14, P4-25]."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from repro.tlb.benchmarks import PROGRAMS, WALKER, arguments
from repro.tlb.experiment import LATENCY, SETS, SHAPE, WAYS, Experiment, misses, simulated
from repro.tlb.task_sets import FIGURE_9, TABLE_1, TaskSet
from tautochrone.tlb.partition import GLOBALS, Principal
from tautochrone.tlb.tile import shape, simulation
from testing import placing
from testing.changed_kernels import FORGETTING
from tautochrone.tlb.tile.simulation import Records
from tautochrone.tlb.tile.system import PAGE_BYTES, TileTask

TLB = shape.parsed(SHAPE, latency=LATENCY)
GEOMETRY = TLB.geometry()
PERIOD = 20_000
JOBS = 8
OBJECT_BYTES, LAST_PAGE_BYTES = 3000, 2000  # the control block needs the rest


def run(folder: Path, tasks: Sequence[TileTask], kernel_sets: Sequence[int]) -> Records:
    """Some jobs of tasks, with a kernel whose two pages lie in these sets."""
    pages = kernel_pages(kernel_sets)
    return simulated(tasks, pages, JOBS * PERIOD, TLB, simulation.builder(folder))


def kernel_pages(sets: Sequence[int]) -> tuple[int, int]:
    """A page of the kernel in each of two sets."""
    found: list[int] = []
    for index in sets:
        owned = placing.sets_of(GEOMETRY, (index,))
        count = sum(page // PAGE_BYTES % SETS == index for page in found)
        runs = placing.runs_of(GEOMETRY, owned, 0, ((GLOBALS, 1),) * (count + 1))
        found.append(runs[-1].start)
    first, second = found
    return first, second


def walker(name: str, number: int, pages: int, place: Principal) -> TileTask:
    """A task that walks some pages of its heap."""
    values = arguments(pages, OBJECT_BYTES, pages, 0, 10, 0)
    return TileTask(name, PERIOD, number * PERIOD // 10, WALKER, values, place)


def noise(folder: Path, kernel_sets: Sequence[int] = (5, 9), own_set: int = 12) -> dict[str, Any]:
    """A task walks four pages of one set, for each set: it misses in the noisy ones alone."""
    own = placing.sets_of(GEOMETRY, (own_set,))
    found = []
    for index in range(SETS):
        heap = placing.sets_of(GEOMETRY, (index,))
        place = placing.place(GEOMETRY, 1, own, heap, heap_pages=WAYS)
        records = run(folder, [walker("t1", 0, WAYS, place)], kernel_sets)
        found.append(sum(misses(records, 0)[1:]))
    return {
        "kernel_sets": list(kernel_sets),
        "own_set": own_set,
        "misses": found,
        "noisy_sets": [index for index, count in enumerate(found) if count],
    }


def corollary_1(folder: Path, sets: Sequence[int] = (1, 2, 3)) -> list[dict[str, Any]]:
    """Tasks with an object of as many pages as there are shared sets, one more each time."""
    heap = placing.sets_of(GEOMETRY, sets)
    rows = []
    for count in range(WAYS - 1, WAYS + 2):
        tasks = []
        for number in range(count):
            own = placing.sets_of(GEOMETRY, (8 + number,))
            place = placing.place(GEOMETRY, number + 1, own, heap, heap_pages=len(sets))
            size = (len(sets) - 1) * PAGE_BYTES + LAST_PAGE_BYTES
            strides = (size, 10, 1, len(sets))
            start, program = number * PERIOD // 10, PROGRAMS / "strider.c"
            tasks.append(TileTask(f"t{number + 1}", PERIOD, start, program, strides, place))
        records = run(folder, tasks, (0, 0))
        behind = [sum(misses(records, task)[1:]) for task in range(count)]
        rows.append(
            {"objects": count, "misses": behind, "cross_evictions": records.cross_evictions}
        )
    return rows


def equal_periods(folder: Path, pages: int = 3) -> dict[str, Any]:
    """Two tasks of one period share a color: each loads its pages once an activation."""
    heap = placing.sets_of(GEOMETRY, (3,))
    tasks = []
    for number in range(2):
        own = placing.sets_of(GEOMETRY, (8 + number,))
        place = placing.place(GEOMETRY, number + 1, own, heap, heap_pages=pages)
        tasks.append(walker(f"t{number + 1}", number, pages, place))
    records = run(folder, tasks, (0, 0))
    return {"pages": pages, "misses": [misses(records, task)[1:] for task in (0, 1)]}


def switches(folder: Path, sets: dict[str, TaskSet], cycles_per_ms: int) -> dict[str, Any]:
    """The same tasks on the same scheduler: own sets, one heap of all, forgetting at each switch.

    For each: misses behind the warm-ups in all TLBs, cross evictions, cycles of a way through the
    kernel at most, and of all jobs together.
    """
    found: dict[str, Any] = {}
    for name, task_set in sets.items():
        experiment = Experiment(task_set, cycles_per_ms, folder)
        runs = {
            "coloring": experiment.run(True, 1, 1),
            "malloc": experiment.run(False, 1, 1),
            "forgetting": experiment.run(True, 1, 1, FORGETTING),
        }
        found[name] = {policy: _cost(done, len(task_set.rows)) for policy, done in runs.items()}
    return found


def _cost(records: Records, tasks: int) -> dict[str, Any]:
    jobs = [job for job in records.jobs if job.number > 0]
    first = [[job.cycles for job in records.of(task)[1:]] for task in range(tasks)]
    return {
        "jobs": len(jobs),
        "misses": sum(sum(job.misses[:2]) for job in jobs),
        "cross_evictions": records.cross_evictions,
        "entry_cycles_max": max(entry.cycles for entry in records.entries),
        "entries": len(records.entries),
        "job_cycles": sum(job.cycles for job in jobs),
        "job_cycles_spread": [max(cycles) - min(cycles) for cycles in first],
    }


def measure() -> dict[str, Any]:
    """All of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return {
            "noise": noise(folder),
            "corollary_1": corollary_1(folder),
            "equal_periods": equal_periods(folder),
            "switches": switches(folder, {"figure9": FIGURE_9, "table1-4": TABLE_1["4"]}, PERIOD),
        }

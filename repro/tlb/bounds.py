"""Bounds of responses compared with jobs on the tile: random task sets; Fig. 7.

All tasks of a set are released at once, and in a second run one after another, the shortest period
first, so that each release interrupts the first job separately. A coin decides whether a set is
colored. Tasks walk all pages of their heaps, or are benchmarks that repeat their work; sorts begin
with their worst input. Nobody types what a job takes: C is the longest path of the linked program,
whose loops go on as often as its arguments say.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any

from model.tlb_color import response as naive
from repro.tlb.benchmarks import WALKER, arguments, program
from repro.tlb.experiment import KERNEL_SET, WAYS, misses
from repro.tlb.synthetic import HYPERPERIODS, both
from repro.tlb.task_sets import FIGURE_7
from tautochrone.console.output import note
from tautochrone.tlb.compared import DEADLINE
from tautochrone.tlb.partition import Partition
from tautochrone.tlb.planning.planner import plan_partition
from tautochrone.tlb.response import Machine, PeriodicTask, responses
from tautochrone.tlb.run import Choice, run, system_of
from tautochrone.tlb.tasks import TaskSet, read_tasks
from tautochrone.tlb.tile import shape, simulation
from tautochrone.tlb.tile.code import MAIN, Builder
from tautochrone.tlb.tile.entry_bound import entry_cycles
from tautochrone.tlb.tile.job_bound import job_cycles

SEED, SETS = 12, 12
TLB = shape.parsed("16x4", latency=6)
TASKS_LEAST, TASKS_MOST = 3, 6
PERIOD_LEAST, PERIOD_DOUBLINGS = 40_000, 3
SHARE_LEAST, SHARE_MOST = 0.2, 0.8  # of the processor, all tasks together
PAGES_MOST, PAGE_BYTES, OBJECT_BYTES = 4, 4096, 3000
NUMBERS_LOG2_LEAST, NUMBERS_LOG2_MOST = 2, 5
REPEATS_BOUNDED = (10, 20)
APART_CYCLES = 700  # more than an entry into the kernel
CLEARED_ROUNDS = 1, 16, 1
LONG_CYCLES = 400_000_000  # a period for any of these jobs
KERNEL_PAGES = 2
CYCLES_PER_MS = 50_000  # in Fig. 7
NOTED_SETS = 10
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
class Worker:
    """A task: the walker, or a benchmark on so many numbers in each of its pages. A job repeats its
    work so often."""

    program: str
    pages: int
    numbers_log2: int
    repeats: int
    period_cycles: int = LONG_CYCLES
    phase_cycles: int = 0

    @property
    def arguments(self) -> tuple[int, ...]:
        """Its program's."""
        return arguments(
            self.pages, OBJECT_BYTES, self.pages, 0, self.repeats, self.numbers_log2
        )

    @property
    def loops(self) -> list[tuple[str, int]]:
        """How often its loops go on at most, by their names, or the walker's in their order. The
        compiler makes a third one of a walk without pages."""
        if self.program == WALKER.stem:
            rounds = (self.repeats - 1, self.pages - 1, self.repeats)
            return [("", each) for each in rounds]
        count = self.pages << self.numbers_log2
        # memset's loops of bytes, of words, and of bytes behind them
        cleared = [("", each) for each in CLEARED_ROUNDS] if self.program == "fir" else []
        rows = {"turns": self.repeats, "fill": count}
        return [*(rows | ROUNDS[self.program](count)).items(), *cleared]

    @property
    def table(self) -> str:
        """How a file of tasks has these loops."""
        function = MAIN if self.program == WALKER.stem else "memset"
        keys = (
            (f'name = "{name}"' if name else f'function = "{function}"', most)
            for name, most in self.loops
        )
        return ", ".join(f"{{ {key}, rounds_max = {most} }}" for key, most in keys)


def _fft(count: int) -> dict[str, int]:
    points = count // 2
    stages = points.bit_length() - 1
    return {
        **{"points": points, "carries": points, "checksum": count, "stages": stages},
        **{"groups": points, "butterflies": points // 2 * stages},
        "table": 0,  # the warm-up has made it
    }


ROUNDS: dict[str, Callable[[int], dict[str, int]]] = {
    "count": lambda count: {"numbers": count},
    "fir": lambda count: {"numbers": count, "checksum": count},
    "adpcm": lambda count: {"numbers": count, "checksum": count},
    "statistics": lambda count: {"mean": count // 2, "half": count // 2},
    "fft": _fft,
    "bubble_sort": lambda count: {
        "ends": count - 1, "pairs": count * (count - 1) // 2, "checksum": count
    },
    "insertion_sort": lambda count: {
        "numbers": count - 1, "pairs": count * (count - 1) // 2, "checksum": count
    },
}  # fmt: skip
PROGRAMS = (WALKER.stem, *ROUNDS)


@dataclass(frozen=True)
class Row:
    """A task on the tile: its bound, if it has one, and its longest response; the bound of a job's
    code, and what a job took of it at most."""

    is_colored: bool
    program: str
    bound_cycles: int | None
    response_cycles: int
    jobs: int
    code_cycles: int
    own_cycles: int


def task_set(workers: Sequence[Worker], folder: Path) -> TaskSet:
    """The workers as a file of tasks."""
    text = HEAD
    for number, each in enumerate(workers):
        text += f"""\
[[task]]
name = "t{number}"
period_cycles = {each.period_cycles}
phase_cycles = {each.phase_cycles}
program = "{program(each.program)}"
flags = ["-DPAGED_NOTES"{', "-DPAGED_FALLING"' if each.program.endswith("_sort") else ""}]
arguments = {[*each.arguments]}
loops = [{each.table}]
heap_bytes = {each.pages * PAGE_BYTES}
stack_bytes = {PAGE_BYTES}
globals_bytes = {PAGE_BYTES}
code_bytes = {PAGE_BYTES}
"""
    path = folder / "tasks.toml"
    path.write_text(text, encoding="utf-8")
    return read_tasks(path)


def placed(tasks: TaskSet, is_colored: bool) -> Partition:
    """The tasks' pages."""
    planned = plan_partition(tasks, TLB.geometry(), not is_colored)
    if planned.misfits:
        raise RuntimeError(f"a task does not fit: {planned.misfits[0]}")
    return planned.partition


class Costs:
    """What a job takes by its code: a part that each repeat adds, and the rest."""

    def __init__(self, building: Builder) -> None:
        self.building = building
        self.known: dict[Worker, int] = {}

    def of(self, worker: Worker) -> int:
        """The bound of a job, for any other period."""
        key = replace(worker, period_cycles=LONG_CYCLES)
        if key not in self.known:
            tasks = task_set([key], self.building.folder)
            made = system_of(tasks, placed(tasks, True), Choice(1))
            image = self.building.image(made.tasks[0], made)
            self.known[key] = job_cycles(image.elf, tasks.tasks[0].loops)
        return self.known[key]

    def repeats(self, worker: Worker, cycles: float) -> int:
        """How often a job of a worker repeats its work, to take about so many cycles."""
        low, high = (self.of(replace(worker, repeats=each)) for each in REPEATS_BOUNDED)
        each = (high - low) / (REPEATS_BOUNDED[1] - REPEATS_BOUNDED[0])
        return max(1, round((cycles - low) / each + REPEATS_BOUNDED[0]))


def random_workers(chance: Random, costs: Costs) -> list[Worker]:
    """A task set that uses a random share of the processor, divided at random."""
    count = chance.randint(TASKS_LEAST, TASKS_MOST)
    parts = [chance.expovariate(1) for _ in range(count)]
    share = chance.uniform(SHARE_LEAST, SHARE_MOST) / sum(parts)
    found = []
    for part in parts:
        period = round(PERIOD_LEAST * 2 ** chance.uniform(0, PERIOD_DOUBLINGS))
        numbers_log2 = chance.randint(NUMBERS_LOG2_LEAST, NUMBERS_LOG2_MOST)
        pages = 2 ** chance.randint(0, 2)
        one = Worker(chance.choice(PROGRAMS), pages, numbers_log2, 1, period)
        while costs.of(one) > part * share * period and one.numbers_log2 > NUMBERS_LOG2_LEAST:
            one = replace(one, numbers_log2=one.numbers_log2 - 1)
        found.append(replace(one, repeats=costs.repeats(one, part * share * period)))
    return found


def tried(number: int, costs: Costs, building: Builder) -> list[Row]:
    """The tasks of a set; each run lasts for the longest period."""
    chance = Random(f"{SEED}/{number}")
    is_colored = chance.random() < 0.5
    workers = sorted(random_workers(chance, costs), key=lambda each: each.period_cycles)
    cycles = max(each.period_cycles for each in workers)
    jobs = []
    for apart in (0, APART_CYCLES):
        late = [replace(each, phase_cycles=apart * n) for n, each in enumerate(workers)]
        tasks = task_set(late, building.folder)
        found = run(tasks, placed(tasks, is_colored), TLB, Choice(cycles), building)
        wrong = [row for row in found["exceeded"] if row["figure"] != DEADLINE]
        if wrong:
            raise RuntimeError(f"set {number}, seed {SEED}: {wrong[0]}")
        jobs += [job for job in found["jobs"] if job["number"] > 0]
    code = {row["task"]: row["code_cycles"] for row in found["costs"]}
    rows = []
    for task in dict.fromkeys(job["task"] for job in jobs):
        own = [job for job in jobs if job["task"] == task]
        response, took = (max(job[key] for job in own) for key in ("response_cycles", "own_cycles"))
        name = workers[int(task[1:])].program
        bound = own[0]["bound_cycles"]
        rows.append(Row(is_colored, name, bound, response, len(own), code[task], took))
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


def by_program(rows: Sequence[Row]) -> dict[str, float]:
    """Bound of a job's code ÷ what a job took of it at most, the median over the tasks."""
    return {
        name: median(row.code_cycles / row.own_cycles for row in rows if row.program == name)
        for name in PROGRAMS
        if any(row.program == name for row in rows)
    }


def random_sets(
    sets: int, costs: Costs, building: Builder
) -> tuple[dict[str, Any], dict[str, float]]:
    """So many of them: all, and colored and uncolored apart; and the programs."""
    rows = []
    for number in range(sets):
        rows.append(tried(number, costs, building))
        if (number + 1) % NOTED_SETS == 0:
            note(f"bounds: {number + 1} of {sets} sets, seed {SEED}")
    return summaries(rows), by_program([row for found in rows for row in found])


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


def figure7(costs: Costs, folder: Path) -> dict[str, Any]:
    """Misses of the paper's two tasks, in one set and in two: on the tile, by the analysis at most,
    and by the model job for job."""
    found: dict[str, Any] = {}
    for name, experiment, records in both(CYCLES_PER_MS, TLB.latency, folder):
        sets = experiment.heap_sets
        tasks = [
            PeriodicTask(
                f"T{number + 1}",
                round(row.period_ms * CYCLES_PER_MS),
                costs.of(Worker(WALKER.stem, row.pages, 0, experiment.repeats[number])),
                {(0, sets[number][0]): row.pages},
            )
            for number, row in enumerate(FIGURE_7.rows)
        ]
        entry = entry_cycles(experiment.builder.program_path, TLB.miss_cycles)
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
        costs = Costs(building)
        random, programs = random_sets(sets, costs, building)
        return {
            "seed": SEED,
            "shape": TLB.name,
            "latency": TLB.latency,
            "sets_asked": SETS,
            "random": random,
            "programs": programs,
            "figure7": figure7(costs, folder),
        }

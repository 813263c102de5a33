"""Tasks alone, and beside a hostile neighbor: whatever it does, nothing of theirs may change.

The neighbor walks all its pages and tries those of the others (kernel/systems/tasks/hostile.c). All
runs have the same places; the neighbor has the highest priority, one in the middle, or the lowest.
Each job of a task is compared with the same job alone: its value, its data misses, and its own
cycles, up to what an interruption may cost. So are the task's faults, and what its sets promise.
"""

import shutil
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tautochrone import unseen
from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.tile.sources import root
from tautochrone.tlb.partition import ISOLATED, Partition
from tautochrone.tlb.planning.planner import plan_partition, refuse_misfits
from tautochrone.tlb.promise import broken, promises_of
from tautochrone.tlb.run import Choice, system_of
from tautochrone.tlb.tasks import Task, TaskSet
from tautochrone.tlb.tile.code import Builder
from tautochrone.tlb.tile.entry_bound import STRETCH_CYCLES
from tautochrone.tlb.tile.shape import Shape
from tautochrone.tlb.tile.simulation import Job, Records, simulated
from tautochrone.tlb.tile.system import ARGUMENTS_MAX, PAGE_BYTES, System

LEAKS = ("uncolored", "owner")
CHANGES = "kernel/tasks/leaks.toml"
NEIGHBOR = "~neighbor"  # No name of a user has a ~.
PROGRAM = "kernel/systems/tasks/hostile.c"
OBJECTS_MAX = 64  # of a page each: OBJECTS_MAX of the program
PRIORITIES = ("highest", "middle", "lowest")
DATA = 1  # of the misses of a job


@dataclass(frozen=True)
class Difference:
    """Of a task beside a neighbor of a priority: what, in which job (None: in none), and both
    values."""

    task: str
    priority: str
    seed: int
    what: str
    job: int | None
    alone: int | None
    beside: int | None


@dataclass(frozen=True)
class Found:
    """What was searched, and what differed."""

    leak: str | None
    runs: int
    jobs_compared: int
    neighbor_jobs: int
    neighbor_faults: int
    differences: tuple[Difference, ...]

    @property
    def failure(self) -> str | None:
        """Why the check has failed although nothing differed; None if it has not."""
        if self.differences:
            return None
        if self.leak is not None:
            return f"the leak {self.leak} is built in and was not found"
        if not self.jobs_compared or not self.neighbor_jobs:
            return "no job of a task and of the neighbor ended: too few to show anything"
        if not self.neighbor_faults:
            return "the neighbor tried no page of others: that shows nothing of rights"
        return None

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "failure": self.failure, unseen.KEY: list(unseen.TLB_CHECK)}


class LeakingBuilder(Builder):
    """Builds a kernel with a leak."""

    def __init__(self, folder: Path, leak: str | None) -> None:
        super().__init__(root(), folder)
        self.changes = tomllib.loads((root() / CHANGES).read_text("utf-8")).get(leak or "", [])

    def kernel_sources(self) -> list[Path]:
        """With a copy of each that is changed."""
        found = super().kernel_sources()
        for change in self.changes:
            place = [path.name for path in found].index(change["file"])
            text = found[place].read_text("utf-8")
            assert text.count(change["old"]) == 1, change["old"]
            found[place] = Path(shutil.copy(found[place], self.folder / change["file"]))
            found[place].write_text(text.replace(change["old"], change["new"]), "utf-8")
        return found


def checked(
    tasks: TaskSet, shape: Shape, choice: Choice, seeds: int, leak: str | None, folder: Path
) -> Found:
    """Run the tasks alone, and with the neighbor of each priority and seed. Raises TauError."""
    sets, ways = shape.levels[0]
    objects = min(OBJECTS_MAX, sets * ways)
    whole = replace(tasks, tasks=(*tasks.tasks, _neighbor(tasks, objects, PRIORITIES[0])))
    planned = plan_partition(whole, shape.geometry(), leak == "uncolored")
    refuse_misfits(planned)
    building = LeakingBuilder(folder, leak)
    alone = _done(system_of(tasks, planned.partition, choice), shape, building, choice)
    names = [task.name for task in tasks.by_priority()]
    found = Found(leak, 0, 0, 0, 0, ())
    for priority in PRIORITIES:
        for seed in range(choice.seed, choice.seed + seeds):
            pages = _others(planned.partition, seed)
            own = _neighbor(tasks, objects, priority, (seed, objects, len(pages), *pages))
            rows = (own, *tasks.tasks) if priority == PRIORITIES[0] else (*tasks.tasks, own)
            made = system_of(replace(tasks, tasks=rows), planned.partition, choice)
            made = replace(made, run_cycles=system_of(tasks, planned.partition, choice).run_cycles)
            done = _done(made, shape, building, choice)
            numbers = {task.name: number for number, task in enumerate(made.tasks)}
            different = list(_compared(names, numbers, made, alone, done, shape))
            mine = numbers[NEIGHBOR]
            found = replace(
                found,
                runs=found.runs + 1,
                jobs_compared=found.jobs_compared
                + sum(len(_pairs(alone, done, n, numbers[name])) for n, name in enumerate(names)),
                neighbor_jobs=found.neighbor_jobs + len(done.of(mine)),
                neighbor_faults=found.neighbor_faults
                + sum(fault.task == mine for fault in done.faults),
                differences=found.differences
                + tuple(Difference(name, priority, seed, *row) for name, *row in different),
            )
    return found


def _neighbor(
    tasks: TaskSet, objects: int, priority: str, arguments: tuple[int, ...] = ()
) -> Task:
    periods = sorted(task.period_cycles for task in tasks.tasks)
    place = {"highest": 0, "middle": len(periods) // 2, "lowest": -1}[priority]
    return Task(
        name=NEIGHBOR,
        period_cycles=periods[place],
        program=root() / PROGRAM,
        sources=(),
        flags=(),
        libraries=(),
        arguments=arguments,
        heap_bytes=objects * PAGE_BYTES,
        recordings=(),
        stack_bytes=PAGE_BYTES,
        globals_bytes=PAGE_BYTES,
        globals_run_bytes=1,
        code_bytes=PAGE_BYTES,
        code_run_bytes=1,
        mode=ISOLATED,
        restarts=True,
        sets=(),
    )


def _others(partition: Partition, seed: int) -> list[int]:
    """The pages that it tries: some of every other principal, other ones with another seed."""
    pages = [
        address
        for each in partition.principals
        if each.name != NEIGHBOR
        for run in each.runs
        for address in partition.addresses(run)
    ]
    room = ARGUMENTS_MAX - 3
    first = (seed - 1) * room % len(pages)
    return [*pages[first:], *pages[:first]][:room]


def _done(made: System, shape: Shape, building: Builder, choice: Choice) -> Records:
    return simulated(building.program(made), made, shape, building, choice.warm_up_cycles)


def _pairs(alone: Records, beside: Records, one: int, other: int) -> list[tuple[Job, Job]]:
    """The same jobs of a task behind its warm-up, by its number in both runs."""
    later = {job.number: job for job in beside.of(other)}
    return [
        (job, later[job.number]) for job in alone.of(one) if job.number in later and job.number > 0
    ]


def _compared(
    names: Sequence[str],
    numbers: dict[str, int],
    made: System,
    alone: Records,
    done: Records,
    shape: Shape,
) -> Iterator[tuple[str, str, int | None, int | None, int | None]]:
    """The first difference of each kind of each task."""
    tlbs = [array.name for array in shape.geometry().arrays]
    for row in broken(promises_of(made, tlbs), [task.name for task in made.tasks], done):
        if row.task != NEIGHBOR:
            yield row.task, f"{row.figure} of {row.tlb}", row.job, row.given, row.measured
    reached = next((job for job in done.of(numbers[NEIGHBOR]) if job.value != 0), None)
    if reached is not None:
        yield NEIGHBOR, "reached pages of others", reached.number, 0, reached.value
    for number, name in enumerate(names):
        faults = [[(fault.cause, fault.address) for fault in run.faults if fault.task == task]
                  for run, task in ((alone, number), (done, numbers[name]))]  # fmt: skip
        if faults[0] != faults[1][: len(faults[0])] or len(faults[1]) > len(faults[0]):
            yield name, "faults", None, len(faults[0]), len(faults[1])
        pairs = _pairs(alone, done, number, numbers[name])
        for what, differs, value in (
            ("value", lambda one, two: one.value != two.value, lambda job: job.value),
            ("misses", lambda one, two: one.misses[DATA] != two.misses[DATA],
             lambda job: job.misses[DATA]),
            ("own cycles", _took_longer, lambda job: job.own_cycles),
        ):  # fmt: skip
            first = next((pair for pair in pairs if differs(*pair)), None)
            if first is not None:
                yield name, what, first[0].number, *map(value, first)


def _took_longer(alone: Job, beside: Job) -> bool:
    """By more than its interruptions cost, or shorter by more than those alone did."""
    moved = beside.own_cycles - alone.own_cycles
    least = -STRETCH_CYCLES * (alone.stretches - 1)
    return not least <= moved <= STRETCH_CYCLES * (beside.stretches - 1)


def refuse_alone(tasks: TaskSet) -> None:
    """Raise TauError if a task has no program."""
    for number, task in enumerate(tasks.tasks):
        if task.program is None:
            raise tasks.fail(f"task[{number}]", f"{task.name} has no program", "give it `program`")


def show(found: Found) -> None:
    """Print for people."""
    print(
        f"{output.count(found.runs, 'run')} beside a neighbor of the highest, a middle and the"
        f" lowest priority: {found.jobs_compared:,} jobs compared"
    )
    print(
        f"the neighbor began {found.neighbor_jobs:,} jobs, and was stopped"
        f" {found.neighbor_faults:,} times for an access that it has no right to"
    )
    for each in found.differences:
        where = "" if each.job is None else f", job {each.job}"
        print(
            f"{each.task}, neighbor of {each.priority} priority, seed {each.seed}: {each.what}"
            f"{where}: {each.alone} alone, {each.beside} beside it"
        )
    if not found.differences:
        print("no job's value, misses or own cycles changed, and every promise was kept")
    print(unseen.told(unseen.TLB_CHECK))

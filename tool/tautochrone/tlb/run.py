"""What `tau tlb run` does: tasks of a file on the simulated tile, in the places of a partition."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import lcm
from typing import Any, NamedTuple

from tautochrone import unseen
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import tile_format
from tautochrone.targets.build import BuildError
from tautochrone.targets.libraries import Libraries
from tautochrone.tlb.compared import BOUND, CODE_CYCLES, COST, DEADLINE, Exceeded, exceeded
from tautochrone.tlb.geometry import Geometry
from tautochrone.tlb.partition import (
    CODE,
    GLOBALS,
    ISOLATED,
    STACK,
    UNCOLORED,
    Partition,
    Principal,
)
from tautochrone.tlb.promise import Promise, broken, promises_of
from tautochrone.tlb.promise import told as told_promises
from tautochrone.tlb.refusals import check_periods
from tautochrone.tlb.response import NO_COST, EntryCycles, Response, Timing, responses_in
from tautochrone.tlb.tasks import KERNEL, Task, TaskSet
from tautochrone.tlb.tile.code import Builder
from tautochrone.tlb.tile.entry_bound import entry_cycles
from tautochrone.tlb.tile.job_bound import job_cycles
from tautochrone.tlb.tile.shape import Shape
from tautochrone.tlb.tile.simulation import TLBS, WARM_UP_CYCLES_MAX, Job, Records, simulated, told
from tautochrone.tlb.tile.system import (
    ARGUMENTS_MAX,
    HEAP_WINDOW_PAGES_MAX,
    PAGE_BYTES,
    TASKS_MAX,
    Extras,
    System,
    TileTask,
)

BESIDE = (-PAGE_BYTES, 0, PAGE_BYTES)
RUN_CYCLES_DEFAULT_MAX = 20_000_000
KERNEL_BYTES = {GLOBALS: "data_bytes", STACK: "stack_bytes"}


@dataclass(frozen=True)
class Choice:
    """How tasks are run: for how many cycles (None: two hyperperiods).

    All warm-ups together take at most `warm_up_cycles`.
    """

    run_cycles: int | None = None
    seed: int = 1
    warm_up_cycles: int = WARM_UP_CYCLES_MAX


def run(
    tasks: TaskSet, partition: Partition, shape: Shape, choice: Choice, building: Builder
) -> dict[str, Any]:
    """Build and run; return the command's document. Raises TauError."""
    made = system_of(tasks, partition, choice)
    program = building.program(made)
    entry = entry_cycles(program, shape.miss_cycles)
    check_periods(tasks, entry)
    found = simulated(program, made, shape, building, choice.warm_up_cycles)
    names = [task.name for task in made.tasks]
    tlbs = TLBS[: len(shape.levels) + 1]
    costs = _costs(tasks, made, building)
    bounds = _bounds(tasks, partition, shape, entry, costs)
    is_colored = all(each.mode != UNCOLORED for each in _own(partition, tasks))
    promises = promises_of(made, [array.name for array in shape.geometry().arrays])
    over = [
        *broken(promises, names, found),
        *_exceeded(tasks, shape, names, found, bounds, costs),
    ]
    return {
        "tasks": str(tasks.path),
        "shape": shape.document(),
        "seed": choice.seed,
        "is_colored": is_colored,
        "run_cycles": made.run_cycles,
        "promises": [each._asdict() for each in promises],
        "exceeded": [each._asdict() for each in over],
        "costs": [each._asdict() for each in costs.values()],
        "jobs": [_job(names[job.task], tlbs, job, bounds) for job in found.jobs],
        "unfinished": [
            _unfinished(made.tasks[job.task], tlbs, job, bounds) for job in found.unfinished
        ],
        "bounds": [
            {"task": each.name, "response_cycles": each.response_cycles}
            for each in bounds.values()
        ],
        "unbounded": [
            {"task": each.name, "cause": each.reason} for each in bounds.values() if each.reason
        ],
        "stopped": [
            {"task": names[each.task], "cause": each.cause, "address": each.address, "pc": each.pc}
            | {"why": told(made.tasks[each.task], each)}
            | {"restarts": made.tasks[each.task].restarts}
            for each in found.faults
        ],
        unseen.KEY: list(unseen.TLB_RUN),
        "evictions": {"own": found.own_evictions, "cross": found.cross_evictions},
        "evictions_by": _evictions(found, [KERNEL, *names]),
        "kernel": _kernel(found),
    }


class Cost(NamedTuple):
    """C of a task: what the file gives, else what its code takes, else why that is unknown."""

    task: str
    cost_cycles: int | None
    code_cycles: int | None
    cause: str | None
    next_step: str | None

    @property
    def known_cycles(self) -> int | None:
        """The figure that bounds rest on."""
        return self.code_cycles if self.cost_cycles is None else self.cost_cycles


def _costs(tasks: TaskSet, made: System, building: Builder) -> dict[str, Cost]:
    """Of each task by name, in the order of priorities."""
    found = {}
    for task, placed in zip(tasks.by_priority(), made.tasks, strict=True):
        cycles = cause = next_step = None
        try:
            cycles = job_cycles(building.image(placed, made).elf, task.loops, task.restarts)
        except TauError as error:
            cause = error.message
            next_step = f"{error.next_step}; or give cost_cycles" if error.next_step else None
        found[task.name] = Cost(task.name, task.cost_cycles, cycles, cause, next_step)
    return found


def _bounds(
    tasks: TaskSet,
    partition: Partition,
    shape: Shape,
    entry: EntryCycles,
    costs: Mapping[str, Cost],
) -> dict[str, Response]:
    """The bound of each task's responses by name."""
    if all(each.name != KERNEL for each in partition.principals):
        return {name: Response(name, reason="the file has no [kernel]") for name in costs}
    timings = [
        Timing(task.name, task.period_cycles, costs[task.name].known_cycles)
        for task in tasks.by_priority()
    ]
    place = replace(partition, geometry=shape.geometry())
    found = responses_in(timings, place, shape.miss_cycles, entry)
    return {
        each.name: replace(each, reason=costs[each.name].cause) if each.reason == NO_COST else each
        for each in found
    }


def _exceeded(
    tasks: TaskSet,
    shape: Shape,
    names: list[str],
    found: Records,
    bounds: Mapping[str, Response],
    costs: Mapping[str, Cost],
) -> list[Exceeded]:
    figures = {
        COST: {name: each.cost_cycles for name, each in costs.items()},
        CODE_CYCLES: {name: each.code_cycles for name, each in costs.items()},
        BOUND: {name: bound.response_cycles for name, bound in bounds.items()},
        DEADLINE: {task.name: task.period_cycles for task in tasks.tasks},
    }
    return exceeded(found.jobs, found.unfinished, names, figures, shape.miss_cycles)


def _job(
    name: str, tlbs: Sequence[str], job: Job, bounds: Mapping[str, Response]
) -> dict[str, Any]:
    return {
        "task": name,
        "number": job.number,
        "misses": job.first_level_misses,
        "misses_by_tlb": dict(zip(tlbs, job.misses, strict=False)),
        "cycles": job.cycles,
        "own_cycles": job.own_cycles,
        "response_cycles": job.response_cycles,
        "bound_cycles": bounds[name].response_cycles if job.number > 0 else None,
        "value": job.value,
    }


def _unfinished(
    task: TileTask, tlbs: Sequence[str], job: Job, bounds: Mapping[str, Response]
) -> dict[str, Any]:
    """The oldest unfinished job of a task, and how many were released and had not ended."""
    told = _job(task.name, tlbs, job, bounds)
    del told["value"]
    since_cycles = told.pop("response_cycles")
    return told | {
        "since_release_cycles": since_cycles,
        "count": -(-since_cycles // task.period_cycles),
    }


def _evictions(found: Records, names: list[str]) -> list[dict[str, Any]]:
    return [
        {"tlb": tlb, "by": names[by], "of": names[of], "count": count}
        for (tlb, by, of), count in sorted(found.evictions.items())
    ]


def _kernel(found: Records) -> dict[str, int]:
    """How often it was entered and left without sleep, and the longest way."""
    same = [each.cycles for each in found.entries if each.before == each.task]
    other = [each.cycles for each in found.entries if each.before != each.task]
    return {
        "entries": len(found.entries),
        "cycles_max": max((*same, *other), default=0),
        "switches": len(other),
        "switch_cycles": sum(other),
    }


# ---- from a partition to a system ----------------------------------------------------------------


def system_of(tasks: TaskSet, partition: Partition, choice: Choice) -> System:
    """The system of tasks at the places of a partition. Raises TauError if the tile has none."""
    ordered = tasks.by_priority()
    if len(ordered) > TASKS_MAX:
        raise TauError(
            f"{len(ordered)} tasks are more than the tile's {TASKS_MAX}", "run fewer", EXIT_USAGE
        )
    principals = {each.name: each for each in partition.principals}
    made = []
    for task in ordered:
        if task.name not in principals:
            raise TauError(f"the plan has no principal {task.name}", "plan these tasks again")
        made.append(_task(tasks, task, _place(principals[task.name], partition.geometry)))
    _check_heap_windows(made)
    state, stack = _kernel_pages(principals.get(KERNEL), partition)
    shared = tuple(each for each in partition.principals if each.used_by)
    return System(
        partition.geometry,
        tuple(made),
        state,
        stack,
        choice.run_cycles or _hyperperiods(ordered),
        is_joint=all(principals[task.name].mode != UNCOLORED for task in ordered),
        seed=choice.seed,
        shared=shared,
    )


def _own(partition: Partition, tasks: TaskSet) -> Iterable[Principal]:
    names = {task.name for task in tasks.tasks}
    return (each for each in partition.principals if each.name in names)


def _task(tasks: TaskSet, task: Task, place: Principal) -> TileTask:
    where = f"task[{tasks.tasks.index(task)}]"
    if task.program is None:
        raise tasks.fail(where, f"{task.name} has no program to run", "give it `program`")
    if not task.program.is_file():
        raise tasks.fail(f"{where}.program", f"{task.program} does not exist")
    for number, source in enumerate(task.sources):
        if not source.is_file():
            raise tasks.fail(f"{where}.sources[{number}]", f"{source} does not exist")
    if len(task.arguments) > ARGUMENTS_MAX:
        raise tasks.fail(f"{where}.arguments", f"more than {ARGUMENTS_MAX} arguments")
    folder = tasks.path.parent.absolute()
    try:
        libraries = Libraries.named(task.libraries, folder)
    except BuildError as error:
        raise tasks.fail(f"{where}.libraries", error.message, error.next_step) from error
    return TileTask(
        task.name,
        task.period_cycles,
        task.phase_cycles,
        task.program,
        task.arguments,
        place,
        Extras(task.sources, task.flags, libraries, folder),
        task.restarts,
    )


def _place(principal: Principal, geometry: Geometry) -> Principal:
    """A principal's pages, with all sets if it owns none. Raises TauError if it lacks a part."""
    for part in (CODE, GLOBALS, STACK):
        runs = principal.runs_of(part)
        if not runs:
            raise TauError(
                f"{principal.name} has no {part}", f"give it {part}_bytes of a page or more"
            )
        if part != CODE and len(runs) > 1:
            raise TauError(
                f"{part} of {principal.name}: the plan has {len(runs)} runs, but the tile's linker"
                " script takes one",
                f"set {part}_run_bytes = {principal.bytes_of(part)} in the tasks, and plan again",
            )
    if principal.mode == UNCOLORED:
        sets = tuple(tuple(range(array.sets)) for array in geometry.arrays)
        return replace(principal, mode=ISOLATED, sets=sets)
    return principal


def _check_heap_windows(tasks: Iterable[TileTask]) -> None:
    for task in tasks:
        pages = task.place.heap_window_bytes // PAGE_BYTES
        if pages > HEAP_WINDOW_PAGES_MAX:
            raise TauError(
                f"the heap of {task.name} has a window of {pages:,} pages; the tile's tasks have"
                f" at most {HEAP_WINDOW_PAGES_MAX:,}",
                "give it a smaller heap, or more sets",
            )


def _kernel_pages(kernel: Principal | None, partition: Partition) -> tuple[int, int]:
    """The kernel's page of state and of stack; without a plan for it, the lowest of the window."""
    if kernel is None:
        taken = [range(each.window_start, each.window_start + each.window_bytes)
                 for each in partition.principals]  # fmt: skip
        first = tile_format.ADDRESS_WINDOW + PAGE_BYTES
        window = range(first, tile_format.ADDRESS_FRAMES, PAGE_BYTES)
        # The pages on both sides stay unmapped, as those around stacks do.
        free = (
            page
            for page in islice(window, 0, None, 2)
            if not any(page + beside in each for each in taken for beside in BESIDE)
        )
        state, stack = next(free, None), next(free, None)
        if state is None or stack is None:
            raise TauError("no page is left for the kernel", "give the file a table [kernel]")
        return state, stack
    for part, key in KERNEL_BYTES.items():
        if not kernel.runs_of(part):
            raise TauError(f"the kernel has no page for its {part}", f"give it {key} = 4096")
    return kernel.runs_of(GLOBALS)[0].start, kernel.runs_of(STACK)[0].start


def _hyperperiods(tasks: list[Task]) -> int:
    """Two of them and the last first release, if that is not too long."""
    cycles = 2 * lcm(*(task.period_cycles for task in tasks))
    return min(cycles + max(task.phase_cycles for task in tasks), RUN_CYCLES_DEFAULT_MAX)


# ---- for people ----------------------------------------------------------------------------------


def _or_none(cycles: int | None) -> str:
    return "none" if cycles is None else format(cycles, ",")


def show(found: dict[str, Any]) -> None:
    """Print for people."""
    print(
        f"{'task':<16} {'jobs':>6} {'misses: first':>14} {'later':>9} {'response (cycles)':>17}"
        f" {'bound':>9}"
    )
    bounds = {each["task"]: each["response_cycles"] for each in found["bounds"]}
    for name in dict.fromkeys(job["task"] for job in found["jobs"]):
        jobs = [job for job in found["jobs"] if job["task"] == name]
        later = jobs[1:]
        least, most = (pick((job["misses"] for job in later), default=0) for pick in (min, max))
        response = max((job["response_cycles"] for job in later), default=None)
        told = _or_none(response) if later else f"{jobs[0]['response_cycles']:,} (warm-up)"
        span = f"{least:,}" if least == most else f"{least:,}-{most:,}"
        print(
            f"{name:<16} {len(jobs):>6,} {jobs[0]['misses']:>14,} {span:>9}"
            f" {told:>17} {_or_none(bounds[name]):>9}"
        )
    for each in found["unfinished"]:
        print(
            f"{each['task']}: {each['count']:,} released and not finished at the end of the run;"
            f" the oldest is job {each['number']:,}, released"
            f" {each['since_release_cycles']:,} cycles before it"
        )
    steps = {each["cause"]: each["next_step"] for each in found["costs"]}
    for cause in dict.fromkeys(each["cause"] for each in found["unbounded"]):
        without = [each["task"] for each in found["unbounded"] if each["cause"] == cause]
        print(f"no bound of {', '.join(without)}: {cause}")
        if steps.get(cause):
            print(f"  next: {steps[cause]}")
    for each in found["stopped"]:
        again = ", and began again" * each["restarts"]
        print(f"{each['task']} was stopped at {each['pc']:#x}{again}: {each['why']}")
    print(told_promises([Promise(**each) for each in found["promises"]]))
    evictions, kernel = found["evictions"], found["kernel"]
    print(f"evictions: {evictions['own']:,} own, {evictions['cross']:,} cross")
    print(
        f"kernel: {kernel['cycles_max']:,} cycles at most from a trap to a task, in"
        f" {kernel['entries']:,} entries without sleep"
    )
    print(unseen.told(unseen.TLB_RUN))

"""Runs a system of tasks on the simulated tile: jobs, faults, evictions, kernel entries."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tautochrone.errors import EXIT_LIMIT_EXCEEDED, TauError
from tautochrone.facts import tile_format
from tautochrone.facts import tile_format as tile
from tautochrone.tile.records import Record
from tautochrone.tile.build import CYCLES_WORTH_TRAINING
from tautochrone.tile.simulation import simulate as run_simulator
from tautochrone.tile.sources import root
from tautochrone.tlb.partition import CODE, STACK
from tautochrone.tlb.tile.code import Builder
from tautochrone.tlb.tile.shape import Shape
from tautochrone.tlb.tile.system import (
    CODE_IS_READ,
    LARGE_FRAME,
    PAGE_BYTES,
    System,
    TileTask,
)

JOB, MISSES, VALUE, FAULT, EVICTIONS, UNFINISHED = range(6)  # channels: kernel/tasks/report.c
OWNER_BITS = 4
TLBS = ("instructions", "data", "second level")


@dataclass(frozen=True)
class Job:
    """A job of a task: the warm-up is number 0. Misses are by TLB, in the order of TLBS.

    `cycles` is what the kernel measured, `own_cycles` those between its instructions: from each
    resumption to the trap after it, in so many `stretches`.
    """

    task: int
    number: int
    cycles: int
    response_cycles: int
    misses: tuple[int, ...]
    value: int
    own_cycles: int = 0
    stretches: int = 0

    @property
    def first_level_misses(self) -> int:
        """Misses of fetches, loads and stores."""
        return self.misses[0] + self.misses[1]


@dataclass(frozen=True)
class Fault:
    """What a task did wrong: the cause as in mcause, the address that it was about, and where."""

    task: int
    cause: int
    address: int
    pc: int


@dataclass(frozen=True)
class Entry:
    """A way through the kernel: from a trap to the first instruction of TASK, which ran before."""

    task: int
    before: int | None
    cycles: int


@dataclass
class Records:
    """A run. Evictions: count by TLB, evictor and victim; owner 0 is the kernel.

    `unfinished` has the oldest job of each task that was released and had not ended by the end of
    the run. Its response is the time from its release to that end. A stopped task has none.
    """

    jobs: list[Job] = field(default_factory=list)
    unfinished: list[Job] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    evictions: dict[tuple[str, int, int], int] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    @property
    def own_evictions(self) -> int:
        """Evictions of the evictor's own entries."""
        return sum(n for (_, by, of), n in self.evictions.items() if by == of)

    @property
    def cross_evictions(self) -> int:
        """Evictions of others' entries."""
        return sum(n for (_, by, of), n in self.evictions.items() if by != of)

    def of(self, task: int) -> list[Job]:
        """The jobs of a task, its warm-up first."""
        return [job for job in self.jobs if job.task == task]


def read(rows: Sequence[Record]) -> Records:
    """The records of a run."""
    found = Records()
    told = [row for row in rows if row.channel <= UNFINISHED]
    own = _own(rows)
    for first, second, third in zip(told, told[1:], told[2:], strict=False):
        # A run that was cut short may lack the others.
        if first.channel in (JOB, UNFINISHED) and third.channel == VALUE:
            (found.jobs if first.channel == JOB else found.unfinished).append(
                Job(
                    first.tag >> 24,
                    first.tag & 0xFFFFFF,
                    first.value,
                    first.sent,
                    (second.tag, second.value, second.sent),
                    third.tag,
                    *next(own),
                )
            )
    for row in told:
        if row.channel == FAULT:
            found.faults.append(Fault(row.tag >> 24, row.tag & 0xFFFFFF, row.value, row.sent))
        elif row.channel == EVICTIONS:
            pair = row.tag & (1 << 2 * OWNER_BITS) - 1
            by, of = pair >> OWNER_BITS, pair & (1 << OWNER_BITS) - 1
            found.evictions[TLBS[row.tag >> 9], by, of] = row.value
    found.entries = list(_entries(rows))
    return found


def _own(rows: Iterable[Record]) -> Iterator[tuple[int, int]]:
    """The own cycles and the stretches of each job, in the order of their records."""
    spent: Counter[int] = Counter()
    stretches: Counter[int] = Counter()
    task, resumed_cycle = 0, None
    for row in rows:
        if row.channel == tile.CHANNEL_OWNER:
            task = row.tag
        elif row.channel == tile.CHANNEL_RESUME:
            resumed_cycle = row.at_cycle
        elif row.channel == tile.CHANNEL_TRAP and resumed_cycle is not None:
            spent[task] += row.at_cycle - resumed_cycle
            stretches[task] += 1
            resumed_cycle = None
        elif row.channel == FAULT:  # the job has no other record
            del spent[row.tag >> 24], stretches[row.tag >> 24]
        elif row.channel in (JOB, UNFINISHED):
            yield spent.pop(row.tag >> 24, 0), stretches.pop(row.tag >> 24, 0)


def _entries(rows: Iterable[Record]) -> Iterable[Entry]:
    """Each trap with the resumption after it. A nap in between is left out: it costs nothing."""
    trap_cycle: int | None = None
    task: int | None = None
    before: int | None = None
    for row in rows:
        if row.channel == tile.CHANNEL_TRAP:
            trap_cycle, before = row.at_cycle, task
        elif row.channel == tile.CHANNEL_OWNER:
            task = row.tag
            if trap_cycle is not None and row.at_cycle - row.faults >= trap_cycle:
                trap_cycle = None  # the core has slept since
        elif row.channel == tile.CHANNEL_RESUME and trap_cycle is not None and task is not None:
            yield Entry(task, before, row.at_cycle - trap_cycle)
            trap_cycle = None


FETCHES, LOADS, STORES, CALL = (0, 1), (4, 5), (6, 7), 8  # mcause
DEEDS = {2: "an illegal instruction", 3: "a breakpoint"}


def told(task: TileTask, fault: Fault) -> str:
    """For people: what, where, and how far below the stack if that is why."""
    if fault.cause == CALL:
        return "it returned, or called what the kernel does not have"
    for causes, verb in ((FETCHES, "fetched from"), (LOADS, "loaded from"), (STORES, "stored to")):
        if fault.cause in causes:
            return f"it {verb} {fault.address:#x}, {_place(task, fault.address)}"
    return DEEDS.get(fault.cause, f"an exception of cause {fault.cause}")


def _place(task: TileTask, address: int) -> str:
    stack = task.run_of(STACK)
    reach = max(PAGE_BYTES, stack.size_bytes)  # a frame may be larger than the page below
    if stack.start - reach <= address < stack.start:
        return (
            f"{stack.start - address:,} bytes below its stack of {stack.size_bytes:,} bytes:"
            f" {LARGE_FRAME}"
        )
    if any(run.start <= address < run.end for run in task.place.runs_of(CODE)):
        return f"in its code, which it may only execute: {CODE_IS_READ}"
    return "where it may not"


BOOT_CYCLES_MAX = 1_000_000  # more than the boot takes without heaps
WARM_UP_CYCLES_MAX = 4_000_000  # all tasks together, unless the user gives another number
HEAP_PAGE_CYCLES_MAX = 4000  # more than a heap takes per page of its window: indices are computed


def builder(folder: Path) -> Builder:
    """A builder of several systems in one folder."""
    return Builder(root(), folder)


def _boot_cycles_max(system: System) -> int:
    pages = sum(task.place.heap_window_bytes // PAGE_BYTES for task in system.tasks)
    return BOOT_CYCLES_MAX + HEAP_PAGE_CYCLES_MAX * pages


def _check_warm_ups(system: System, found: Records, cycles_max: int, is_cut: bool) -> None:
    """Refuse warm-ups that took too long together; `is_cut`: the simulator ended the run."""
    warm = {job.task: job.cycles for job in found.jobs if job.number == 0}
    stopped = {fault.task for fault in found.faults}
    spent, before = 0, ""
    for number, task in enumerate(system.tasks):
        spent += warm.get(number, 0)
        is_endless = is_cut and number not in warm and number not in stopped
        if is_endless or spent > cycles_max:
            raise TauError(
                f"the warm-up of {task.name} takes too long: all warm-ups together may take"
                f" {cycles_max:,} cycles{before}",
                "let it call tau_task_wait after its warm-up, or raise --warm-up-cycles",
                EXIT_LIMIT_EXCEEDED,
            )
        if number in warm:
            before += f", {task.name} took {warm[number]:,}"


def simulate(system: System, shape: Shape, builder: Builder) -> Records:
    """Build and run. Raises TauError if the kernel stops, or the simulator cannot be run."""
    return simulated(builder.program(system), system, shape, builder)


def simulated(
    program: Path,
    system: System,
    shape: Shape,
    builder: Builder,
    warm_up_cycles_max: int = WARM_UP_CYCLES_MAX,
) -> Records:
    """Run the built program of a system, as `simulate` does."""
    cycles_max = _boot_cycles_max(system) + warm_up_cycles_max + system.run_cycles
    words = ["--program", str(program)]
    simulator = shape.simulator(words if cycles_max >= CYCLES_WORTH_TRAINING else None)
    done = run_simulator(simulator, words, cycles_max)
    if done.code == tile_format.END_CYCLE_LIMIT:
        _check_warm_ups(system, read(done.records()), warm_up_cycles_max, is_cut=True)
        raise TauError("the kernel went on after the end of the run")
    if done.code != tile_format.END_PASSED:
        lines = done.console.splitlines() or done.messages.splitlines() or ["without a message"]
        raise TauError(f"the tile stopped: {lines[-1]}", said=done.console + done.messages)
    found = read(done.records())
    _check_warm_ups(system, found, warm_up_cycles_max, is_cut=False)
    return found

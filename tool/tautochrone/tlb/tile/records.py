"""What a run of tasks recorded: jobs, faults, evictions, and each way through the kernel."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tautochrone.facts import tile_format as tile

RECORD = struct.Struct("<8I")
JOB, MISSES, VALUE, FAULT, EVICTIONS, UNFINISHED = range(6)  # channels: kernel/tasks/report.c
OWNER_BITS = 4
TLBS = ("instructions", "data", "second level")


@dataclass(frozen=True)
class Job:
    """A job of a task: the warm-up is number 0. Misses are by TLB, in the order of TLBS.

    `cycles` is what the kernel measured, `own_cycles` those between its instructions: from each
    resumption to the trap behind it, in so many `stretches`.
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
        """Of fetches, loads and stores."""
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
        """Of entries of the evictor's."""
        return sum(n for (_, by, of), n in self.evictions.items() if by == of)

    @property
    def cross_evictions(self) -> int:
        """Of entries of others."""
        return sum(n for (_, by, of), n in self.evictions.items() if by != of)

    def of(self, task: int) -> list[Job]:
        """The jobs of a task, its warm-up first."""
        return [job for job in self.jobs if job.task == task]


def read(content: bytes) -> Records:
    """The records of the tile's results."""
    found = Records()
    rows = list(RECORD.iter_unpack(content))
    told = [row for row in rows if row[0] <= UNFINISHED]
    own = _own(rows)
    for first, second, third in zip(told, told[1:], told[2:], strict=False):
        # A run that was cut short may lack the others.
        if first[0] in (JOB, UNFINISHED) and third[0] == VALUE:
            (found.jobs if first[0] == JOB else found.unfinished).append(
                Job(
                    first[1] >> 24,
                    first[1] & 0xFFFFFF,
                    first[3],
                    first[6],
                    (second[1], second[3], second[6]),
                    third[1],
                    *next(own),
                )
            )
    for row in told:
        if row[0] == FAULT:
            found.faults.append(Fault(row[1] >> 24, row[1] & 0xFFFFFF, row[3], row[6]))
        elif row[0] == EVICTIONS:
            pair = row[1] & (1 << 2 * OWNER_BITS) - 1
            by, of = pair >> OWNER_BITS, pair & (1 << OWNER_BITS) - 1
            found.evictions[TLBS[row[1] >> 9], by, of] = row[3]
    found.entries = list(_entries(rows))
    return found


def _own(rows: Iterable[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    """The own cycles and the stretches of each job, in the order of their records."""
    spent: Counter[int] = Counter()
    stretches: Counter[int] = Counter()
    task, resumed_cycle = 0, None
    for row in rows:
        cycle = row[4] | row[5] << 32
        if row[0] == tile.CHANNEL_OWNER:
            task = row[1]
        elif row[0] == tile.CHANNEL_RESUME:
            resumed_cycle = cycle
        elif row[0] == tile.CHANNEL_TRAP and resumed_cycle is not None:
            spent[task] += cycle - resumed_cycle
            stretches[task] += 1
            resumed_cycle = None
        elif row[0] in (JOB, UNFINISHED):
            yield spent.pop(row[1] >> 24, 0), stretches.pop(row[1] >> 24, 0)


def _entries(rows: Iterable[tuple[int, ...]]) -> Iterable[Entry]:
    """Each trap with the resumption behind it. A nap in between is no cost, so it is left out."""
    trap_cycle: int | None = None
    task: int | None = None
    before: int | None = None
    for row in rows:
        cycle = row[4] | row[5] << 32
        if row[0] == tile.CHANNEL_TRAP:
            trap_cycle, before = cycle, task
        elif row[0] == tile.CHANNEL_OWNER:
            task = row[1]
            if trap_cycle is not None and cycle - row[7] >= trap_cycle:
                trap_cycle = None  # the core has slept since
        elif row[0] == tile.CHANNEL_RESUME and trap_cycle is not None and task is not None:
            yield Entry(task, before, cycle - trap_cycle)
            trap_cycle = None

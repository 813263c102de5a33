"""Golden model of tasks under fixed priorities on one TLB: every cycle, every miss, every entry of
the kernel. Cost: proportional to the cycles.

A job works for its cycles, one access in each, in rounds through its entries; a miss adds cycles.
The kernel is entered at each instant with releases and after each job. Nothing preempts the kernel;
it accesses its own entries first. A job ends when the entry after it has read the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Entry = tuple[int, int, int]  # array, set, and a number


@dataclass(frozen=True)
class Task:
    """A task with its entries; the first in a list has the highest priority."""

    period: int
    cost: int
    entries: Sequence[Entry]
    phase: int = 0


@dataclass(frozen=True)
class Machine:
    """Cycles of a miss; of a kernel entry for releases, and after a job, in which the clock is read
    after `reading` cycles. Ways by array, with LRU; the kernel's entries."""

    miss: int
    release: int
    call: int
    reading: int
    ways: Sequence[int]
    kernel: Sequence[Entry] = ()


@dataclass
class Job:
    """A released job. `stall`: cycles until the access that missed is done."""

    task: int
    number: int
    release: int
    done: int = 0
    stall: int = 0
    misses: int = 0
    end: int | None = None


class Tlb:
    """Sets with LRU; an entry of an owner is a thing of its own."""

    def __init__(self, ways: Sequence[int]) -> None:
        self.ways = ways
        self.sets: dict[tuple[int, int], list[tuple[int, Entry]]] = {}

    def misses(self, owner: int, entry: Entry) -> bool:
        """Access an entry: whether it was not there."""
        ways = self.sets.setdefault(entry[:2], [])
        is_there = (owner, entry) in ways
        if is_there:
            ways.remove((owner, entry))
        ways.append((owner, entry))
        if len(ways) > self.ways[entry[0]]:
            ways.pop(0)
        return not is_there


def simulate(
    tasks: Sequence[Task], machine: Machine, cycles: int, is_warm: bool = False
) -> list[Job]:
    """All jobs that are released in `cycles`, in the order of their releases.

    With `is_warm` each task has accessed its entries once, in the order of priorities.
    """
    tlb = Tlb(machine.ways)
    for number, task in enumerate(tasks):
        for entry in task.entries if is_warm else ():
            tlb.misses(number, entry)
    jobs: list[Job] = []
    kernel_left = 0
    is_released = is_called = False  # for the kernel to know
    for now in range(cycles):
        for number, task in enumerate(tasks):
            if now >= task.phase and (now - task.phase) % task.period == 0:
                jobs.append(Job(number, (now - task.phase) // task.period, now))
                is_released = True
        if kernel_left == 0 and (is_released or is_called):
            missed = [entry for entry in machine.kernel if tlb.misses(-1, entry)]
            stall = machine.miss * len(missed)
            kernel_left = stall + max(machine.release * is_released, machine.call * is_called)
            for job in jobs:
                if job.end is None and job.done == tasks[job.task].cost:
                    job.end = now + stall + machine.reading
            is_released = is_called = False
        if kernel_left > 0:
            kernel_left -= 1
            continue
        ready = [job for job in jobs if job.end is None]
        if not ready:
            continue
        job = min(ready, key=lambda each: (each.task, each.number))
        task = tasks[job.task]
        if job.stall == 0 and task.entries:
            entry = task.entries[job.done % len(task.entries)]
            if tlb.misses(job.task, entry):
                job.misses += 1
                job.stall = 1 + machine.miss
        job.stall = max(0, job.stall - 1)
        if job.stall == 0:
            job.done += 1
        is_called |= job.done == task.cost
    return jobs

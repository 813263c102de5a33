"""Bounds of misses and response times of tasks that share TLBs, under fixed priorities.

docs/spec/tlb_color.md, [CLR-28] ... [CLR-32], has the formula and its conditions.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tautochrone.errors import TauError
from tautochrone.tlb.partition import Partition
from tautochrone.tlb.tasks import KERNEL, TaskSet

Place = tuple[int, int]  # array and set
Entries = Mapping[Place, int]  # how many entries somebody has in each set
NO_COST = "the cycles of its jobs are not known"
OTHER_ENTRIES = 2  # into the kernel: one that had begun before the release, and the job's own call


@dataclass(frozen=True)
class PeriodicTask:
    """A task: C without TLB misses (None: unknown), its period, which is its deadline, and its
    entries.

    Those of a `group` are released at the same times, so none begins while another's job goes on.
    """

    name: str
    period_cycles: int
    cost_cycles: int | None
    entries: Entries
    group: str | None = None


class EntryCycles(NamedTuple):
    """What an entry of the kernel takes at most: for a release, and with a task's call, which ends
    its job. `reading`: from that call to the clock that the response is read from."""

    release: int
    call: int
    reading: int

    @property
    def most(self) -> int:
        """The most cycles of any entry."""
        return max(self.release, self.call)


@dataclass(frozen=True)
class Machine:
    """What a reloaded entry and kernel entries cost at most; safe ways by array."""

    miss_cycles: int
    entry: EntryCycles
    safe_ways: Sequence[int]
    kernel: Entries


@dataclass(frozen=True)
class Response:
    """Bounds of each job of a task. `first_misses` come on top of `misses`, in the first job only.

    All but `name` is None without a bound, for `reason`.
    """

    name: str
    misses: int | None = None
    first_misses: int | None = None
    runs_of_others: int | None = None
    kernel_entries: int | None = None
    response_cycles: int | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Timing:
    """A task without its places."""

    name: str
    period_cycles: int
    cost_cycles: int | None


def timings_of(tasks: TaskSet, costs: Mapping[str, int]) -> list[Timing]:
    """The tasks of a file, of falling priority. `costs` has C of each by name, without misses in
    arrays that have sets. Raises TauError if a task has no cost."""
    for each in tasks.tasks:
        if each.name not in costs:
            raise TauError(
                f"{each.name} has no cost, and so no bound",
                "give its cost_cycles, or let `tau tlb run` read its code",
            )
    return [
        Timing(each.name, each.period_cycles, costs[each.name]) for each in tasks.by_priority()
    ]


def responses_in(
    timings: Sequence[Timing],
    partition: Partition,
    miss_cycles: int,
    entry: EntryCycles,
    is_cold: bool = True,
) -> list[Response]:
    """Bounds for tasks of falling priority at the places of a partition. Raises TauError if a task
    has no place."""
    entries = {each.name: partition.entries_of(each.name) for each in partition.principals}
    leaders = {each.name: each.leader for each in partition.principals}
    periodic = []
    for each in timings:
        if each.name not in entries:
            raise TauError(f"the plan has no principal {each.name}", "plan these tasks again")
        own = entries[each.name], leaders[each.name]
        periodic.append(PeriodicTask(each.name, each.period_cycles, each.cost_cycles, *own))
    safe_ways = [array.safe_ways for array in partition.geometry.arrays]
    machine = Machine(miss_cycles, entry, safe_ways, entries.get(KERNEL, {}))
    return responses(periodic, machine, is_cold, partition.entries_of_all())


def responses(
    tasks: Sequence[PeriodicTask],
    machine: Machine,
    is_cold: bool = True,
    total: Entries | None = None,
) -> list[Response]:
    """Bounds for tasks of falling priority; unless `is_cold`, for jobs after the first of each.

    `total`: the entries of all together, if tasks have some in common (default: they have none).
    Cost: at most one step per cycle of a period; in practice a few.
    """
    if total is None:
        total = sum((Counter(each.entries) for each in tasks), Counter(machine.kernel))
    full = {place for place, count in total.items() if count > machine.safe_ways[place[0]]}
    found: list[Response] = []
    for number in range(len(tasks)):
        found.append(_Analysis(tasks, number, machine, full, found, is_cold).response())
    return found


def _count(entries: Entries, full: set[Place]) -> int:
    return sum(count for place, count in entries.items() if place in full)


class _Analysis:
    """The fixed point of one task. `found` are the bounds of higher priorities, `full` the sets in
    which all together have more entries than are safe."""

    def __init__(
        self,
        tasks: Sequence[PeriodicTask],
        number: int,
        machine: Machine,
        full: set[Place],
        found: Sequence[Response],
        is_cold: bool,
    ) -> None:
        self.task, self.machine, self.found = tasks[number], machine, found
        self.higher, self.lower = tasks[:number], tasks[number + 1 :]
        self.evicted = _count(self.task.entries, full)
        self.kernel_evicted = _count(machine.kernel, full)
        # If the kernel shares a set with the task, each of its runs evicts, not only tasks'.
        beside = full & {place for place, count in self.task.entries.items() if count}
        self.is_kernel_beside = any(machine.kernel.get(place) for place in beside)
        group = self.task.group
        strangers = (each for each in self.higher if group is None or each.group != group)
        self.rivals = [each for each in strangers if beside & each.entries.keys()]
        everyone = self.task.entries, machine.kernel, *(each.entries for each in self.higher)
        loaded = [is_cold * (sum(each.values()) - _count(each, full)) for each in everyone]
        self.first_misses, self.first_misses_of_all = loaded[0], sum(loaded)

    def response(self) -> Response:
        """The bounds, or why there are none."""
        name, cycles = self.task.name, self.task.cost_cycles
        if cycles is None:
            return Response(name, reason=NO_COST)
        for who, entries in (("its own", self.task.entries), ("the kernel's", self.machine.kernel)):
            safe_ways = self.machine.safe_ways
            if any(count > safe_ways[place[0]] for place, count in entries.items()):
                return Response(name, reason=f"{who} entries exceed the safe ways of a set")
        if any(each.reason for each in self.found):
            return Response(name, reason="a task of higher priority has no bound")
        while cycles <= self.task.period_cycles:
            misses, runs, entries = self._during(cycles)
            reached = self._cycles_with(cycles, misses)
            if reached == cycles:
                return Response(name, misses, self.first_misses, runs, entries, cycles)
            cycles = reached
        return Response(name, reason="the fixed point exceeds the period")

    def _during(self, cycles: int) -> tuple[int, int, int]:
        """Misses, runs of others that evict, and kernel entries while a job takes `cycles`."""
        entries = OTHER_ENTRIES + sum(self._entries(cycles))
        runs = sum(_releases(each, cycles) for each in self.rivals)
        runs = entries if self.is_kernel_beside else runs
        return self.evicted * (1 + runs), runs, entries

    def _entries(self, cycles: int) -> tuple[int, int]:
        """Kernel entries for releases, and with calls of tasks that preempt."""
        preemptions = sum(_releases(each, cycles) for each in self.higher)
        return 1 + preemptions + sum(_releases(each, cycles) for each in self.lower), preemptions

    def _cycles_with(self, cycles: int, misses: int) -> int:
        """What the job takes if it has these, and others are released for `cycles`."""
        machine, entry = self.machine, self.machine.entry
        assert self.task.cost_cycles is not None
        busy = self.task.cost_cycles + machine.miss_cycles * (misses + self.first_misses_of_all)
        for each, bound in zip(self.higher, self.found, strict=True):
            assert bound.misses is not None and each.cost_cycles is not None
            one_job = each.cost_cycles + machine.miss_cycles * bound.misses
            busy += _releases(each, cycles) * one_job
        releases, calls = self._entries(cycles)
        busy += entry.most + releases * entry.release + calls * entry.call + entry.reading
        return busy + (OTHER_ENTRIES + releases + calls) * machine.miss_cycles * self.kernel_evicted


def _releases(task: PeriodicTask, cycles: int) -> int:
    """At most, in as many cycles."""
    return -(-cycles // task.period_cycles)

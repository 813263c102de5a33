"""What the places of pages promise to each task and to the kernel, in each TLB [TASK-23].

An entry is only evicted from a crowded set, and only by those who have entries there [CLR-28]. So a
task without entries in crowded sets misses once per entry, whatever the others do.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tautochrone.tlb.compared import EVICTIONS, MISSES, Exceeded
from tautochrone.tlb.partition import GLOBALS, STACK, Partition, Run
from tautochrone.tlb.tasks import KERNEL
from tautochrone.tlb.tile.simulation import TLBS, Records
from tautochrone.tlb.tile.system import PAGE_BYTES, System


class Promise(NamedTuple):
    """To a task or the kernel in one TLB: its most misses in the whole run, the warm-up included,
    and in one job (None: any number), and who may evict its entries, if it is not nobody."""

    name: str
    tlb: str
    misses: int | None
    job_misses: int | None
    evictors: tuple[str, ...]


def promises_of(system: System, tlbs: Sequence[str]) -> list[Promise]:
    """The promises of the places of a system. `tlbs` names the arrays of its geometry."""
    places = tuple(replace(task.place, name=task.name) for task in system.tasks)
    pages = Partition(system.geometry, 4, (*places, *system.shared))
    kernel = (Run(GLOBALS, system.kernel_state, PAGE_BYTES),
              Run(STACK, system.kernel_stack, PAGE_BYTES))  # fmt: skip
    entries = {KERNEL: pages.entries(kernel)}
    entries |= {task.name: pages.entries_of(task.name) for task in system.tasks}
    arrays = system.geometry.arrays
    leaders = {task.name: task.place.leader for task in system.tasks} | {KERNEL: KERNEL}
    total = pages.entries_of_all() + entries[KERNEL]
    crowded = {place for place, count in total.items() if count > arrays[place[0]].safe_ways}
    found = []
    for name, own in entries.items():
        for number, tlb in enumerate(tlbs[: len(arrays)]):
            if arrays[number].is_colorable:
                mine = {place for place in own if place[0] == number}
                contested = mine & crowded
                evictors = tuple(each for each in entries if contested & entries[each].keys())
                all_of_them = sum(own[place] for place in mine)
                in_turn = {leaders[each] for each in evictors} <= {leaders[name]}
                fits = all(own[place] <= arrays[number].safe_ways for place in mine)
                found.append(
                    Promise(
                        *(name, tlb, None if contested else all_of_them),
                        all_of_them if in_turn and fits else None,
                        evictors,
                    )
                )
    return found


def broken(promises: Iterable[Promise], names: Sequence[str], found: Records) -> list[Exceeded]:
    """The promises that a run did not keep. `names`: the tasks in the order of their numbers.

    A stopped task may have broken its own ones: only evictions by others count.
    """
    owners = [KERNEL, *names]
    stopped = {names[fault.task] for fault in found.faults}
    evictions: Mapping[tuple[str, str, str], int] = {
        (tlb, owners[of], owners[by]): count for (tlb, by, of), count in found.evictions.items()
    }
    rows: list[Exceeded] = []
    for each in promises:
        if each.job_misses is not None and each.name in {*names} - stopped:
            rows += _missed(each, each.job_misses, names.index(each.name), found)
        rows += [
            Exceeded(each.name, EVICTIONS, 0, None, count, tlb=tlb, by=by)
            for (tlb, of, by), count in sorted(evictions.items())
            if (tlb, of) == (each.tlb, each.name)
            and by not in each.evictors
            and not (by == of and of in stopped)
        ]
    return rows


def _missed(promise: Promise, job_misses: int, task: int, found: Records) -> Iterator[Exceeded]:
    """The first job that misses too often, or with which all have."""
    total = 0
    for job in (*found.of(task), *(job for job in found.unfinished if job.task == task)):
        missed = job.misses[TLBS.index(promise.tlb)]
        total += missed
        if missed > job_misses:
            given = job_misses
        elif promise.misses is not None and total > promise.misses:
            given, missed = promise.misses, total
        else:
            continue
        yield Exceeded(promise.name, MISSES, given, job.number, missed, tlb=promise.tlb)
        return


def told(promises: Sequence[Promise]) -> str:
    """One line for people."""
    kinds: dict[str, list[str]] = {}
    for name in dict.fromkeys(each.name for each in promises if each.name != KERNEL):
        own = [each for each in promises if each.name == name]
        others = sorted({by for each in own for by in each.evictors} - {name})
        if all(each.misses is not None for each in own):
            kind = "one miss per page and TLB"
        elif all(each.job_misses is not None for each in own):
            kind = f"one miss per page, TLB and job, after {', '.join(others)}"
        else:
            kind = f"evicted by {', '.join(others)} only" if others else "evicted by nobody else"
        kinds.setdefault(kind, []).append(name)
    if not kinds:
        return "promised: nothing, since no TLB has sets"
    return "promised: " + "; ".join(f"{', '.join(kinds[kind])}: {kind}" for kind in kinds)

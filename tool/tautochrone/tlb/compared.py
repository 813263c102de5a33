"""Figures of the user and of the analysis, and promises, compared with what was measured.

cost_cycles is C of the analysis: what a job takes without misses. What a job surely took is its own
cycles, less what its misses may have cost, and less what each resumption and each trap take, which
K has already. A bound that a response exceeded is wrong, whatever the reason. A period is the
deadline of each job. A job that the end of the run finds unfinished takes and responds in more than
it has by then.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tautochrone.console.output import count
from tautochrone.errors import EXIT_LIMIT_EXCEEDED, TauError
from tautochrone.tlb.tile.entry_bound import STRETCH_CYCLES
from tautochrone.tlb.tile.simulation import Job

MISSES, EVICTIONS = "misses", "evictions"  # promises
COST, CODE_CYCLES, BOUND, DEADLINE = "cost_cycles", "code_cycles", "bound_cycles", "period_cycles"
FIGURES = COST, CODE_CYCLES, BOUND, DEADLINE  # a job above its own cost also makes others late


class Exceeded(NamedTuple):
    """The job of a task that exceeds a figure most; the first one that breaks a promise.

    Promises are about a `tlb` and the whole run. Evictions are `by` somebody, in no certain job.
    """

    task: str
    figure: str
    given: int
    job: int | None
    measured: int
    is_finished: bool = True
    tlb: str | None = None
    by: str | None = None

    def told(self) -> str:
        """For people."""
        times = f"{count(self.measured, 'time')} (TLB: {self.tlb})"
        if self.figure == EVICTIONS:
            return f"{self.by} evicted entries of {self.task} {times}; the plan promised none"
        if self.figure == MISSES:
            return (
                f"{self.task} missed {times} by the end of job {self.job}; the plan promised at"
                f" most {self.given:,}"
            )
        took = f"job {self.job} of {self.task}"
        if not self.is_finished:
            took += ", which was not finished at the end of the run,"
        if self.figure == CODE_CYCLES:
            return (
                f"{took} took {self.measured:,} cycles without misses; by its code and its loops"
                f" it takes {self.given:,} at most"
            )
        if self.figure == COST:
            return f"{took} took {self.measured:,} cycles without misses; {COST} is {self.given:,}"
        if self.is_finished:
            took += f" responded in {self.measured:,} cycles"
        else:
            took += f" was released {self.measured:,} cycles before it"
        if self.figure == BOUND:
            return f"{took}, above its bound of {self.given:,}"
        return f"{took} and missed its deadline, the period of {self.given:,}"


def least_cost_cycles(job: Job, miss_cycles: int) -> int:
    """What a job took at least, without misses."""
    missed = job.first_level_misses * miss_cycles
    return job.own_cycles - missed - job.stretches * STRETCH_CYCLES


def exceeded(
    jobs: Iterable[Job],
    unfinished: Iterable[Job],
    names: Sequence[str],
    figures: Mapping[str, Mapping[str, int | None]],
    miss_cycles: int,
) -> list[Exceeded]:
    """The figures that a job after a warm-up exceeds, in the order of FIGURES, each with the worst
    job. `figures` has each figure of each task; None is one that nobody knows."""
    worst: dict[tuple[str, str], Exceeded] = {}
    ended = ((job, True) for job in jobs if job.number > 0)
    for job, is_finished in (*ended, *((job, False) for job in unfinished)):
        name = names[job.task]
        for figure, of_tasks in figures.items():
            is_cost = figure in (COST, CODE_CYCLES)
            measured = least_cost_cycles(job, miss_cycles) if is_cost else job.response_cycles
            given = of_tasks.get(name)
            if given is None or measured <= given:
                continue
            key = name, figure
            if key not in worst or measured > worst[key].measured:
                worst[key] = Exceeded(name, figure, given, job.number, measured, is_finished)
    return sorted(worst.values(), key=lambda each: FIGURES.index(each.figure))


def refuse(rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise TauError for the rows of a document's `exceeded`, if there are any. The first one
    decides the next step. Promises are first: what they break also breaks bounds."""
    if not rows:
        return
    found = [Exceeded(**row) for row in rows]
    first = found[0]
    step = "give each the largest `own_cycles` of --json, with a margin for other inputs"
    if first.figure in (MISSES, EVICTIONS):
        step = "look for accesses to pages that the plan does not count, such as constants in code"
    if first.figure == COST and not first.is_finished:
        step = "let each of its jobs end with tau_task_wait; if it does, raise cost_cycles"
    elif first.figure == CODE_CYCLES:
        step = "raise the figures of its loops: one goes on more often than is said"
    elif first.figure == BOUND:
        step = "check cost_cycles of all tasks, and report it if these are right"
    elif first.figure == DEADLINE:
        step = "give it a longer period, or shorten its jobs or those of tasks with shorter periods"
    raise TauError("; ".join(each.told() for each in found), step, EXIT_LIMIT_EXCEEDED)

"""Figures that the analysis took from the user, compared with each job that was measured.

cost_cycles is C of the analysis: what a job takes without misses. What a job surely took is its own
cycles, less what its misses may have cost, and less what each resumption and each trap take, which
K has already. A bound that a response exceeded is wrong, whatever the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tautochrone.errors import EXIT_LIMIT_EXCEEDED, TauError
from tautochrone.tlb.tile.entry_bound import STRETCH_CYCLES
from tautochrone.tlb.tile.records import Job

COST, BOUND = "cost_cycles", "bound_cycles"


class Exceeded(NamedTuple):
    """The job of a task that exceeds a figure most."""

    task: str
    figure: str
    given: int
    job: int
    measured: int

    def told(self) -> str:
        """For people."""
        took = f"job {self.job} of {self.task}"
        if self.figure == COST:
            return f"{took} took {self.measured:,} cycles without misses; {COST} is {self.given:,}"
        return f"{took} responded in {self.measured:,} cycles, above its bound of {self.given:,}"


def least_cost_cycles(job: Job, miss_cycles: int) -> int:
    """What a job took at least, without misses."""
    missed = job.first_level_misses * miss_cycles
    return job.own_cycles - missed - job.stretches * STRETCH_CYCLES


def exceeded(
    jobs: Iterable[Job],
    names: Sequence[str],
    costs: Mapping[str, int],
    bounds: Mapping[str, int],
    miss_cycles: int,
) -> list[Exceeded]:
    """The figures that a job behind a warm-up exceeds, each with the worst job."""
    worst: dict[tuple[str, str], Exceeded] = {}
    for job in jobs:
        if job.number == 0:
            continue
        name = names[job.task]
        for figure, given, measured in (
            (COST, costs.get(name), least_cost_cycles(job, miss_cycles)),
            (BOUND, bounds.get(name), job.response_cycles),
        ):
            if given is None or measured <= given:
                continue
            key = name, figure
            if key not in worst or measured > worst[key].measured:
                worst[key] = Exceeded(name, figure, given, job.number, measured)
    return list(worst.values())


def refuse(rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise TauError for the first row of a document's `exceeded`, if there is one."""
    if not rows:
        return
    first = Exceeded(**rows[0])
    step = "give the largest `own_cycles` of --json, with a margin for inputs that it did not have"
    if first.figure == BOUND:
        step = "check cost_cycles of all tasks, and report it if these are right"
    raise TauError(first.told(), step, EXIT_LIMIT_EXCEEDED)

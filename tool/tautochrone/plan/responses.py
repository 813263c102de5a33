"""The part of [bounds] about tasks on the tile: each task's R and the terms of its formula.

p comes from the unit's document, K from the longest paths of the linked kernel, R from the analysis
(tlb/response.py). A plan without costs, or for another processor, has none of this.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tautochrone.errors import TauError
from tautochrone.facts import plan_format
from tautochrone.files.schema import table_of

# Imported late, so that reading a plan does not load what analyzes tasks.
if TYPE_CHECKING:
    from tautochrone.tlb.partition import Partition
    from tautochrone.tlb.response import EntryCycles
    from tautochrone.tlb.tasks import TaskSet

Table = dict[str, Any]


class TaskBound(NamedTuple):
    """A row of bounds.responses; without a bound it has no response."""

    task: str
    period_cycles: int
    cost_cycles: int
    response_cycles: int | None = None


class Responses(NamedTuple):
    """The keys of [bounds] about tasks, which are all there or none."""

    miss_cycles: int
    release_cycles: int
    call_cycles: int
    reading_cycles: int
    responses: tuple[TaskBound, ...]

    @property
    def entry(self) -> EntryCycles:
        """Cycles of an entry into the kernel."""
        from tautochrone.tlb.response import EntryCycles

        return EntryCycles(self.release_cycles, self.call_cycles, self.reading_cycles)


# ---- making and checking ------------------------------------------------------------------------


def make(
    tasks: TaskSet, partition: Partition, latency: int, note: Callable[[str, str | None], None]
) -> Responses | None:
    """The responses of a file's tasks, with a page table of so many cycles. None without costs; a
    note says why if some are there. Raises TauError if a period is within an entry of the kernel.
    """
    from tautochrone.tlb.refusals import check_periods
    from tautochrone.tlb.response import responses_in, timings_of
    from tautochrone.tlb.tile.shape import shape_of

    costs = {each.name: each.cost_cycles for each in tasks.tasks if each.cost_cycles is not None}
    if not costs:
        return None
    shape = shape_of(partition.geometry, latency)
    try:
        if shape is None:
            cause = f"the cost of a miss on {partition.geometry.name} is not known"
            raise TauError(cause, "plan for a shape of the tile")
        timings = timings_of(tasks, costs)
        entry = kernel_entry_cycles(partition, len(timings), shape.miss_cycles)
    except TauError as error:
        note(f"no bounds of responses: {error.message}", error.next_step)
        return None
    check_periods(tasks, entry)
    found = responses_in(timings, partition, shape.miss_cycles, entry)
    return Responses(
        *(shape.miss_cycles, entry.release, entry.call, entry.reading),
        tuple(
            TaskBound(*(each.name, each.period_cycles, each.cost_cycles), bound.response_cycles)
            for each, bound in zip(timings, found, strict=True)
        ),
    )


def kernel_entry_cycles(
    partition: Partition, tasks_count: int, miss_cycles: int
) -> EntryCycles:
    """K of a kernel for so many tasks, at its places. Raises TauError if it has none, or cannot be
    built."""
    from tautochrone.tlb.partition import GLOBALS, STACK
    from tautochrone.tlb.tasks import KERNEL
    from tautochrone.tlb.tile.entry_bound import entry_cycles
    from tautochrone.tlb.tile.simulation import builder

    runs = [run for each in partition.principals if each.name == KERNEL for run in each.runs]
    pages = {run.part: run.start for run in reversed(runs)}
    if not {GLOBALS, STACK} <= pages.keys():
        raise TauError(
            "the kernel has no pages in the plan", "give [kernel] stack_bytes and data_bytes"
        )
    with tempfile.TemporaryDirectory() as folder:
        made = builder(Path(folder)).kernel(tasks_count, pages[GLOBALS], pages[STACK])
        return entry_cycles(made, miss_cycles)


def problems(value: Responses, partition: Partition | None) -> list[str]:
    """How R differs at the places of the plan, with the installed kernel and compiler. Raises
    TauError if that cannot be built."""
    from tautochrone.tlb.response import Timing, responses_in

    if partition is None:
        return ["responses of tasks, but the plan has no [tlb]"]
    principals = {each.name for each in partition.principals}
    unknown = [row.task for row in value.responses if row.task not in principals]
    if unknown:
        return [f"the response of {unknown[0]}, but [tlb] has no such principal"]
    now = kernel_entry_cycles(partition, len(value.responses), value.miss_cycles)
    said = [
        f"{key}_cycles: now {ours}, the plan says {planned}"
        for key, ours, planned in zip(now._fields, now, value.entry, strict=True)
        if ours != planned
    ]
    timings = [Timing(*row[:3]) for row in value.responses]
    for row, bound in zip(
        value.responses, responses_in(timings, partition, value.miss_cycles, now), strict=True
    ):
        if bound.response_cycles != row.response_cycles:
            ours, planned = (
                "no bound" if cycles is None else f"{cycles} cycles"
                for cycles in (bound.response_cycles, row.response_cycles)
            )
            said.append(f"the response of {row.task}: now {ours}, the plan says {planned}")
    return said


# ---- the table ----------------------------------------------------------------------------------


def from_table(table: Table) -> Responses | None:
    """Of the keys that [bounds] has. Raises TauError if some are missing."""
    there = [key for key in Responses._fields if key in table]
    if not there:
        return None
    missing = [key for key in Responses._fields if key not in table]
    if missing:
        raise TauError(f"[bounds]: it has {there[0]}, but no {missing[0]}")
    rows = tuple(TaskBound(**row) for row in table["responses"])
    return Responses(**{key: table[key] for key in Responses._fields[:-1]}, responses=rows)


def to_table(value: Responses) -> Table:
    """The keys for [bounds]."""
    facts = plan_format.SECTIONS["bounds"]
    return table_of(value, {key: facts[key] for key in Responses._fields})


def broken_rule(value: Responses) -> str:
    """The violated rule of [PLAN-18]."""
    names = [row.task for row in value.responses]
    if not names:
        return "bounds.responses is empty"
    for number, name in enumerate(names):
        if name in names[:number]:
            return f"bounds.responses names {name} twice"
    periods = [row.period_cycles for row in value.responses]
    return "" if periods == sorted(periods) else "bounds.responses is not in the order of periods"


def told(value: Responses) -> list[str]:
    """The lines that `tau tlb plan` prints."""
    return [
        f"{row.task}: "
        + (
            f"no bound of its response: it may miss its deadline of {row.period_cycles:,} cycles"
            if row.response_cycles is None
            else f"response within {row.response_cycles:,} of {row.period_cycles:,} cycles"
        )
        for row in value.responses
    ]


def header(value: Responses) -> list[str]:
    """The macros of the C header."""
    bounded = [row for row in value.responses if row.response_cycles is not None]
    return [
        "// Bounds of each task's response on the tile:",
        *(
            f"#define TAU_PLAN_RESPONSE_{row.task.upper().replace('-', '_')}_CYCLES"
            f" {row.response_cycles}u"
            for row in bounded
        ),
    ]

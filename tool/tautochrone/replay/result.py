"""The result of one replay in an arena or a process, and its entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tautochrone.replay.entry import (
    ACCESSES,
    INSTRUCTIONS,
    PART_COUNTS,
    PARTS,
    Entry,
    Measure,
    Operation,
)

ALWAYS_SHOWN = ("malloc", "free", "realloc")


@dataclass
class ReplayResult:
    """The result of one replay, in bytes; `failed_at_event` counts from 0, None: it completed."""

    system: str
    layout: str
    completed: bool
    failed_at_event: int | None
    cause: str | None
    footprint_bytes: int
    peak_live_bytes: int
    events: int
    skipped: int
    operations: dict[str, int]
    placement_hash: int = 0

    @property
    def footprint_ratio(self) -> float | None:
        """Footprint over peak live payload; None for a trace that never has a live byte."""
        return self.footprint_bytes / self.peak_live_bytes if self.peak_live_bytes else None


def entry_of(
    done: ReplayResult, role: str, counts: Mapping[str, Any] | None = None, **more: Any
) -> Entry:
    """Return the entry of a result; `counts` has the costs of its calls, `more` other fields."""
    operations = {
        name: _operation(name, count, counts or {})
        for name, count in done.operations.items()
        if count or name in ALWAYS_SHOWN
    }
    return Entry(
        name=done.system,
        role=role,
        held=done.completed,
        footprint_bytes=done.footprint_bytes,
        footprint_ratio=done.footprint_ratio,
        failed_at_event=done.failed_at_event,
        cause=done.cause,
        operations=operations,
        events=done.events,
        **more,
    )


def _operation(name: str, count: int, counts: Mapping[str, Any]) -> Operation:
    """The number of one operation's events and, if counted, the costs of its calls."""
    calls = counts.get(name)
    if calls is None:
        return Operation(name, count)
    measures = [Measure(INSTRUCTIONS, round(calls.mean, 2), calls.p999, calls.max, calls.bound)]
    if calls.max_accesses is not None:
        total = sum(cost * number for cost, number in calls.accesses_histogram.items())
        mean = round(total / calls.count, 2)
        costs = (mean, calls.p999_accesses, calls.max_accesses, calls.bound_accesses)
        measures.append(Measure(ACCESSES, *costs))
    parts = {}
    for part in filter(None, PARTS):
        finer = counts.get(f"{name}_{part}")
        if finer is not None:
            costs = (round(finer.mean, 2), finer.p999, finer.max, finer.bound)
            measures.append(Measure(INSTRUCTIONS, *costs, part=part))
            if part in PART_COUNTS:
                parts[part] = finer.count
    return Operation(name, count, tuple(measures), parts)

"""The totals of a trace's events."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Totals:
    """The totals of a footer, or of a scan of the events; see tool/native/trace/trace.h."""

    events: int
    events_of_op: tuple[int, ...]  # in the order of OPS
    blocks: int
    peak_live_bytes: int
    peak_live_objects: int
    slots_count_max: int
    duration_ns: int
    threads: int
    unknown_count: int
    unknown_first_event: int
    inherited_count: int
    double_free_count: int
    double_free_first_event: int
    recovered: bool
    dropped_bytes: int
    end_live_objects: int
    end_live_bytes: int
    sizes_rounded_count: int
    sites: int
    touched_granules: int
    reached_end: bool

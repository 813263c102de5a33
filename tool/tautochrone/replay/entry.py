"""The result of a replay on one system, in the same shape for every system, and its JSON.

    entry.held, entry.footprint_bytes, entry.pages  whether it held, and in how much memory
    entry.operations["free"].measure("cycles")  count, mean, p999, max, bound

Commands, printers and reports read entries only. `document` is the only writer of the objects in
"systems" of `tau replay --json`, and replay/document.py is their only reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tautochrone.facts import fault_format as faults

if TYPE_CHECKING:
    import numpy as np

    from tautochrone.replay.open_trace import OpenTrace

# The units of a call's cost.
INSTRUCTIONS, CYCLES, ACCESSES = "instructions", "cycles", "accesses"
UNITS = (INSTRUCTIONS, CYCLES, ACCESSES, "faults", "evictions", "bytes")
# The role of a system for a reader: ours with a plan, ours without, a conventional system for
# comparison, and what programs use today.
PLANNED, OURS, CONVENTIONAL, PEER = "planned", "ours", "conventional", "peer"
ROLES = (PLANNED, OURS, CONVENTIONAL, PEER)
# Named parts of an operation's calls that are counted separately.
PART_COUNTS = {"hit": "hits", "miss": "misses"}
PARTS = ("", *PART_COUNTS, "in_place")
BUILDS = ("", "zbb")
STATISTICS = ("mean", "p999", "max", "bound")
LINEAR = "linear"
ALWAYS_SHOWN = ("malloc", "free", "realloc")  # Operations of an allocator in an arena.
# A heap at the peak of live bytes: what the program asked for, and what goes elsewhere.
HEAP_PARTS = ("live", "headers", "rounding", "tables", "free")
POINTS_MAX = 400  # In a scatter plot.
BINS_MAX = 512  # In the curve of mapped pages over time.
SIZES_PER_OCTAVE = 16


@dataclass(frozen=True)
class Measure:
    """The calls of one operation in one unit.

    `bound` holds for any sequence of calls; None: there is none, or it is not known. `part` names a
    subset of the calls ("hit": a bucket served them), `build` another build of the system ("zbb").
    """

    unit: str
    mean: float | None = None
    p999: int | None = None
    max: int | None = None
    bound: int | None = None
    part: str = ""
    build: str = ""

    def key(self, statistic: str) -> str:
        """The name of a statistic in the JSON."""
        return "_".join(filter(None, (statistic, self.part, self.unit, self.build)))


@dataclass(frozen=True)
class Scatter:
    """The cost of calls over the object's size; `calls` is the number of calls of each point."""

    size_bytes: list[int]
    costs: list[int]
    calls: list[int] | None = None


@dataclass(frozen=True)
class Operation:
    """The calls of one operation. Without a bound, `grows` says how the cost grows."""

    name: str
    count: int
    measures: tuple[Measure, ...] = ()
    parts: Mapping[str, int] = field(default_factory=dict)
    grows: str | None = None
    by_size: Scatter | None = None
    histogram: list[list[int]] | None = None

    def measure(self, unit: str, part: str = "", build: str = "") -> Measure | None:
        """The measure in a unit; None if there is none."""
        wanted = (unit, part, build)
        return next((m for m in self.measures if (m.unit, m.part, m.build) == wanted), None)


@dataclass(frozen=True)
class Pages:
    """The mapped pages of a system. `curve`: fewest and most over the events, in bins.

    `table_bytes`: the tables of its space, without frames; None on the tile, which has separate
    memories for them.
    """

    peak: int
    mean: float
    end: int
    faults: int
    touches: int
    touch: str
    frames: int
    curve: Mapping[str, list[int]]
    heap_pages: int | None = None
    table_bytes: int | None = None

    @property
    def is_blind(self) -> bool:
        """Whether the trace does not say which pages the program touched."""
        return self.touches == 0 and self.touch == "recorded"


@dataclass(frozen=True)
class Simulation:
    """The cycles of the tile, `start_cycles` of them before the trace, and its counters."""

    cycles: int
    start_cycles: int
    counters: Mapping[str, int]


@dataclass(frozen=True)
class Entry:
    """The result of a replay on one system; sizes are in bytes, `role` is one of ROLES.

    `footprint_bytes` is the safe heap (threshold.py, search.py), or the memory that was taken.
    `failed_at_event` counts from 0. With a plan, `plan_heap_bytes` is the plan's heap, and
    `plan_holds` says whether the trace completes in it. `in_process`: the allocator ran unmodified
    in a process of this machine. `recording` names the trace if a report shows several. `skipped`
    events were misuse. `heap_parts` has HEAP_PARTS, whose sum is `footprint_bytes`, of a heap of
    ours that held. `placement_hash` is of the places of all objects, if they were checked.
    `layout` is the system's. `estimate` says that the trace has sizes of another ABI.
    """

    name: str
    role: str
    held: bool
    footprint_bytes: int
    footprint_ratio: float | None = None
    failed_at_event: int | None = None
    cause: str | None = None
    operations: Mapping[str, Operation] = field(default_factory=dict)
    events: int | None = None
    in_process: bool = False
    plan_heap_bytes: int | None = None
    plan_holds: bool | None = None
    pages: Pages | None = None
    simulation: Simulation | None = None
    recording: str = ""
    skipped: int = 0
    placement_hash: int = 0
    heap_parts: Mapping[str, int] | None = None
    layout: str = "32"
    estimate: str = ""

    @property
    def unit(self) -> str | None:
        """The unit of its costs: the first measured one; None if nothing was counted."""
        measures = (m for operation in self.operations.values() for m in operation.measures)
        return next((measure.unit for measure in measures), None)

    def document(self) -> dict[str, Any]:
        """The entry in `tau replay --json`, with the same keys for every system."""
        pages, simulation = self.pages, self.simulation
        return {
            "name": self.name,
            "role": self.role,
            "in_process": self.in_process,
            "layout": self.layout,
            "estimate": self.estimate or None,
            "completed": self.held,
            "failed_at_event": self.failed_at_event,
            "cause": self.cause,
            "events": self.events,
            "footprint_bytes": self.footprint_bytes,
            "footprint_ratio": self.footprint_ratio,
            "plan_heap_bytes": self.plan_heap_bytes,
            "plan_holds": self.plan_holds,
            "heap_parts": self.heap_parts and dict(self.heap_parts),
            "peak_mapped_pages": pages and pages.peak,
            "mean_mapped_pages": pages and round(pages.mean, 3),
            "end_mapped_pages": pages and pages.end,
            "faults": pages and pages.faults,
            "touches": pages and pages.touches,
            "touch": pages and pages.touch,
            "frames": pages and pages.frames,
            "heap_pages": pages and pages.heap_pages,
            "table_bytes": pages and pages.table_bytes,
            "mapped_pages": pages and dict(pages.curve),
            "cycles": simulation and simulation.cycles,
            "start_cycles": simulation and simulation.start_cycles,
            "counters": simulation and dict(simulation.counters),
            "operations": {
                name: _operation(operation, self.unit)
                for name, operation in self.operations.items()
            },
        }


def arena_entry(
    trace: OpenTrace, name: str, role: str, fault: int, fault_event: int, footprint_bytes: int
) -> Entry:
    """Return the entry of one replay in an arena or a process, without costs.

    `fault` says how it ended, `fault_event` at which event, unless it completed.
    """
    held, peak_bytes = fault == faults.COMPLETED, int(trace.facts.peak_live_bytes)
    return Entry(
        name=name,
        role=role,
        held=held,
        footprint_bytes=footprint_bytes,
        footprint_ratio=footprint_bytes / peak_bytes if peak_bytes else None,
        failed_at_event=None if held else fault_event,
        cause=None if held else faults.MEANING[fault],
        operations={
            verb: Operation(verb, count)
            for verb, count in trace.operations().items()
            if count or verb in ALWAYS_SHOWN
        },
        events=int(trace.facts.events),
        skipped=int(trace.facts.skipped),
    )


def _operation(operation: Operation, unit: str | None) -> dict[str, Any]:
    """An operation's object in the JSON."""
    said: dict[str, Any] = {"count": operation.count}
    for measure in operation.measures:
        for statistic in STATISTICS:
            said[measure.key(statistic)] = getattr(measure, statistic)
    said |= {PART_COUNTS[part]: count for part, count in operation.parts.items()}
    said["grows"] = operation.grows
    if operation.by_size is not None and unit is not None:
        points = operation.by_size
        said["by_size"] = {"size_bytes": points.size_bytes, unit: points.costs}
        if points.calls is not None:
            said["by_size"]["calls"] = points.calls
    if operation.histogram is not None:
        said["histogram"] = operation.histogram
    return said


def thinned(
    sizes: np.ndarray, costs: np.ndarray, points_max: int = POINTS_MAX
) -> tuple[np.ndarray, np.ndarray]:
    """Thin out points: one for each size step and cost, with every maximum kept.

    Sizes are grouped by 16 steps per octave. Of each step, the largest cost stays at its own size.
    Of the others, `points_max` are chosen evenly.
    """
    import numpy as np

    steps = np.floor(np.log2(np.maximum(sizes, 1).astype(np.float64)) * SIZES_PER_OCTAVE)
    order = np.lexsort((costs, steps))
    steps, sizes, costs = steps[order], sizes[order], costs[order]
    is_last = np.append((steps[1:] != steps[:-1]) | (costs[1:] != costs[:-1]), True)
    is_largest = np.append(steps[1:] != steps[:-1], True)[is_last]
    sizes, costs = sizes[is_last], costs[is_last]
    others = np.flatnonzero(~is_largest)
    left = max(points_max - int(is_largest.sum()), 0)
    if len(others) > left:
        others = others[np.linspace(0, len(others) - 1, left).astype(np.int64)]
    kept = np.sort(np.concatenate([np.flatnonzero(is_largest), others]))
    return sizes[kept], costs[kept]


def curve_of(event: np.ndarray, low: np.ndarray, high: np.ndarray) -> dict[str, list[int]]:
    """Return mapped pages over time in at most BINS_MAX bins, with every maximum and minimum."""
    import numpy as np

    together = -(-len(event) // BINS_MAX)
    if together > 1:
        starts = np.arange(0, len(event), together)
        low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        event = event[starts]
    return {"event": event.tolist(), "min": low.tolist(), "max": high.tolist()}

"""From recordings to a plan: profile, planner, measurement by replay, margin."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone.errors import TauError
from tautochrone.plan import (
    ALIGNMENT_BYTES,
    CLASSES_MAX,
    Plan,
    PlanClass,
    PlanTrace,
    trace_identity,
    validate,
    with_margin,
)
from tautochrone.planners import replayed
from tautochrone.planners.recordings import Classes, ReplayedRecording
from tautochrone.profile import Profile, profile_of


@dataclass(frozen=True)
class Made:
    """A plan and what is worth telling about it.

    `measured_heap_bytes` is the heap without the margin.
    """

    plan: Plan
    plain_heap_bytes: int
    measured_heap_bytes: int
    sizes_count: int
    replays: int


def make_plan(
    paths: Sequence[Path],
    planner: str = "replayed",
    classes_max: int = CLASSES_MAX,
    margin: float = 0.0,
    layout: str = "32",
    skip_misuse: bool = False,
    tick: Callable[[], None] = lambda: None,
) -> Made:
    """Plan a heap that holds every recording of `paths`, measured by replay.

    `tick` is called after each replay. Raises TauError if a recording cannot be planned from.
    """
    profile = profile_of(paths, ALIGNMENT_BYTES[layout], skip_misuse)
    recordings = [ReplayedRecording(path, layout) for path in paths]
    if planner == "replayed":
        found = replayed.plan(profile, recordings, classes_max, tick)
        optimal_within = _distance(found.heap_bytes, profile.peak_live_bytes)
    else:
        classes, proved = formula_classes(profile, planner, classes_max)
        optimal_within = proved
        found = _measure(classes, recordings, tick)
    plan = Plan(
        classes=found.classes,
        heap_bytes=_trusted_heap(found, recordings, margin, layout),
        planner=planner,
        optimal_within=math.ceil(optimal_within * 1e6) / 1e6,
        margin=margin,
        layout=layout,
        traces=tuple(
            PlanTrace(
                trace.path.name, trace_identity(trace.path), trace.events, trace.peak_live_bytes
            )
            for trace in profile.traces
        ),
    )
    validate(plan)
    return Made(plan, found.plain_heap_bytes, found.heap_bytes, len(profile.sizes), found.replays)


def _trusted_heap(
    found: replayed.Measured,
    recordings: Sequence[ReplayedRecording],
    margin: float,
    layout: str,
) -> int:
    """The measured heap with its margin, in which every recording was seen to complete [PLAN-6].

    A larger heap can place blocks elsewhere and fail, so a size that was not tried is not trusted.
    """
    heap_bytes = with_margin(found.heap_bytes, margin, layout)
    step = max(ALIGNMENT_BYTES[layout], found.heap_bytes >> 10 & -ALIGNMENT_BYTES[layout])
    while not all(
        recording.completed(found.classes, heap_bytes) == recording.events
        for recording in recordings
    ):
        heap_bytes += step
    return heap_bytes


def formula_classes(profile: Profile, planner: str, classes_max: int) -> tuple[Classes, float]:
    """The classes of a formula planner, and its `optimal_within`.

    When there are more sizes than classes, those with the largest S_i P_i,max get one.
    """
    ranked = sorted(
        profile.sizes, key=lambda size: (-size.size_bytes * size.peak_live, size.size_bytes)
    )
    instants = profile.reduce([size.size_bytes for size in ranked[:classes_max]])
    # Loaded when it is wanted: the exact planner takes a third of a second to load its solver.
    budget = importlib.import_module(f"tautochrone.planners.{planner}").budget(instants)
    pairs = zip(instants.sizes_bytes, budget.counts, strict=True)
    return (
        tuple(PlanClass(size, count) for size, count in pairs if count > 0),
        budget.optimal_within,
    )


def _measure(
    classes: Classes, recordings: Sequence[ReplayedRecording], tick: Callable[[], None]
) -> replayed.Measured:
    """The heap that `classes` and plain TLSF need."""
    heaps: list[int] = []
    for system in (classes, ()):
        needed = []
        for recording in recordings:
            needed.append(recording.smallest_heap(system))
            tick()
        heaps.append(max(needed))
    return replayed.Measured(classes, heaps[0], heaps[1], len(heaps))


def _distance(value: int, least: int) -> float:
    """How far `value` can be above the optimum, which is at least `least`."""
    if value < least:
        raise TauError(
            f"a heap of {value} bytes cannot hold {least} live bytes", "report this as a bug"
        )
    return (value - least) / value if value else 0.0

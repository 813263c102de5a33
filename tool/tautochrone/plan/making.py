"""Makes a plan from recordings: profile, planner, measurement by replay, margin."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tautochrone.errors import TauError
from tautochrone.plan.file import (
    ALIGNMENT_BYTES,
    CLASSES_MAX,
    Plan,
    PlanTrace,
    validate,
    with_margin,
)
from tautochrone.plan.heap import replayed, starts
from tautochrone.plan.heap.recordings import Classes, ReplayedRecording, common_heap, held_by_all
from tautochrone.plan.margin import Margin, margin_of
from tautochrone.plan.profile import profile_of
from tautochrone.plan.sections import Basis, make_sections
from tautochrone.plan.spread import Spread, spread_of
from tautochrone.trace.ending import RECOVERED, Ending
from tautochrone.trace.file import TraceReader, open_trace

if TYPE_CHECKING:
    from tautochrone.replay.opened import OpenTrace


@dataclass(frozen=True)
class Made:
    """A plan and facts about it for people.

    `least_bytes` is the peak of live bytes, rounded up to the granule, of the recording that needs
    most: no heap can be smaller.

    `measured_heap_bytes` is the heap without the margin. Every recording completed in it, and with
    plain TLSF in `plain_heap_bytes`. `search_seconds` is the time of the search; it must not be
    written to the plan file, because equal input gives an equal file.
    """

    plan: Plan
    recordings: tuple[OpenTrace, ...]  # in the plan's order
    plain_heap_bytes: int
    measured_heap_bytes: int
    least_bytes: int
    sizes_count: int
    replays: int
    search_seconds: float
    starts: tuple[replayed.Start, ...]
    margin: Margin
    spread: Spread | None  # None with one recording
    alone: tuple[Classes, ...]  # of several recordings, the pools found for each by itself

    @property
    def endings(self) -> tuple[Ending, ...]:
        """How each recording ended."""
        return tuple(recording.ending for recording in self.recordings)

    @property
    def margin_bytes(self) -> int:
        """The bytes that the margin adds to the measured heap."""
        return self.plan.heap_bytes - self.measured_heap_bytes

    @property
    def above_optimum(self) -> float:
        """The most that the measured heap can be above the optimum, as a part of the optimum."""
        return self.measured_heap_bytes / self.least_bytes - 1 if self.least_bytes else 0.0


def make_plan(
    traces: Sequence[Path | TraceReader],
    planner: str = "replayed",
    classes_max: int = CLASSES_MAX,
    margin: float | None = 0.0,
    layout: str = "32",
    skip_misuse: bool = False,
    tick: Callable[[], None] = lambda: None,
    is_input_fixed: bool = False,
) -> Made:
    """Plan a heap that holds every recording, measured by replay; no other section.

    `margin` None: what the recordings advise.

    With `is_input_fixed` the replayed planner judges by these recordings alone. `tick` is called
    after each replay. Raises TauError for a recording that cannot be planned from.
    """
    started = time.perf_counter()
    readers = [one if isinstance(one, TraceReader) else open_trace(one) for one in traces]
    for reader in readers:
        _refuse_nothing(reader)
    profile = profile_of(readers, ALIGNMENT_BYTES[layout], skip_misuse)
    recordings = [ReplayedRecording(reader, layout) for reader in readers]
    alone: tuple[Classes, ...] = ()
    if planner == "replayed":
        several = readers if len(readers) > 1 else ()
        own = [profile_of([reader], profile.granule_bytes, skip_misuse) for reader in several]
        searched = (profile, own, recordings, classes_max, tick, is_input_fixed)
        found, alone = replayed.plan_several(*searched)
        optimal_within = _distance(found.heap_bytes, profile.peak_live_bytes)
    else:
        classes, proved = starts.formula_classes(profile, planner, classes_max)
        optimal_within = proved
        found = _measure(classes, recordings, ALIGNMENT_BYTES[layout], tick)
    names = [reader.path.name for reader in readers]
    spread = spread_of(recordings, names, found.classes, alone)
    chosen = margin_of(spread, len(recordings), margin, is_input_fixed)
    with_its_margin = with_margin(found.heap_bytes, chosen.fraction, layout)
    plan = Plan(
        classes=found.classes,
        heap_bytes=held_by_all(recordings, found.classes, with_its_margin, ALIGNMENT_BYTES[layout]),
        planner=planner,
        optimal_within=math.ceil(optimal_within * 1e6) / 1e6,
        margin=chosen.fraction,
        margin_source=chosen.source,
        spread=None if spread is None else round(spread.fraction, 6),
        layout=layout,
        traces=tuple(map(_recorded, readers)),
    )
    validate(plan)
    return Made(
        *(plan, tuple(recording.trace for recording in recordings)),
        *(found.plain_heap_bytes, found.heap_bytes),
        *(profile.peak_live_bytes, len(profile.sizes)),
        sum(recording.replays for recording in recordings),
        time.perf_counter() - started,
        *(found.starts, chosen, spread, alone),
    )


def with_sections(
    made: Made,
    skip_misuse: bool,
    note: Callable[[str, str | None], None],
) -> Made:
    """Return the plan with every other section that recordings and machine allow.

    `note` gets the reason and the next step for each section, or part of one, that is missing.
    """
    plan = made.plan
    basis = Basis(
        traces=made.recordings,
        skip_misuse=skip_misuse,
        layout=plan.layout,
        has_classes=bool(plan.classes),
        heap_bytes=with_margin(made.plain_heap_bytes, plan.margin, plan.layout),
        note=note,
    )
    return replace(made, plan=replace(plan, sections=make_sections(basis)))


def _refuse_nothing(reader: TraceReader) -> None:
    """Raise TauError for a trace that was cut before its first whole block: it has no event."""
    is_cut = any(remark.kind == RECOVERED for remark in reader.ending.remarks)
    if is_cut and not reader.totals.events:
        raise TauError(f"{reader.path}: no event could be recovered", "record again")


def _recorded(reader: TraceReader) -> PlanTrace:
    """Return a plan's entry of a recording."""
    totals = reader.totals
    program = Path(str(reader.header.get("program") or "")).name
    said = (reader.sha256(), totals.events, totals.peak_live_bytes, reader.ending.gaps)
    return PlanTrace(reader.path.name, *said, program.encode("utf-8", "replace").decode())


def _measure(
    classes: Classes,
    recordings: Sequence[ReplayedRecording],
    alignment_bytes: int,
    tick: Callable[[], None],
) -> replayed.Measured:
    """The heap that `classes` and plain TLSF need."""
    heaps: list[int] = []
    for system in (classes, ()):
        needed = []
        for recording in recordings:
            needed.append(recording.smallest_heap(system))
            tick()
        heaps.append(common_heap(recordings, system, needed, alignment_bytes))
    return replayed.Measured(classes, heaps[0], heaps[1])


def _distance(value: int, least: int) -> float:
    """How far `value` can be above the optimum, which is `least` or more."""
    if value < least:
        raise TauError(
            f"a heap of {value} bytes cannot hold {least} live bytes", "report this as a bug"
        )
    return (value - least) / value if value else 0.0

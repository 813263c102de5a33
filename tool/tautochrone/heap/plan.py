"""Makes a plan from recordings: profile, planner, measurement by replay, margin."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from tautochrone.machine.core_build import Build
from tautochrone.errors import TauError
from tautochrone.plan import build as built
from tautochrone.plan import sizes
from tautochrone.plan.file import (
    BANDS,
    CLASSES_MAX,
    LAYOUTS,
    MARGIN_MAX,
    PLANNERS,
    Plan,
    PlanTrace,
    validate,
    with_margin,
)
from tautochrone.heap import pools
from tautochrone.heap.margin import Margin, margin_of
from tautochrone.heap.planners import replayed, starts
from tautochrone.heap.recordings import Classes, ReplayedRecording, SearchEnded
from tautochrone.heap.safe import safe_heap
from tautochrone.heap.spread import Spread, spread_of
from tautochrone.heap.profile import Profile, profile_of
from tautochrone.plan.sections import Basis, make_sections
from tautochrone.replay.open_trace import OpenTrace, open_trace_for_replay
from tautochrone.trace import abi
from tautochrone.trace.ending import RECOVERED, Ending
from tautochrone.trace.file import TraceReader, open_trace

REPLAYED = "replayed"
EVENTS_SEARCHED_MAX = 1 << 21  # of a longer recording the search gets a part
EVENTS_OF_PART = 1 << 19


@dataclass(frozen=True)
class Made:
    """A plan and facts about it for people.

    `least_bytes` is the peak of live bytes, rounded up to the granule, of the recording that needs
    most: no heap can be smaller.

    `measured_heap_bytes` is the heap without the margin. Every recording completes in it and in all
    larger ones (safe.py), and with plain TLSF in `plain_heap_bytes`. `found` is what the planner
    found, with such safe heaps, too. `pools` says what
    pools save, and why they were taken or not. `search_seconds` is the time of the search; it must
    not be written to the plan file, because equal input gives an equal file.
    """

    plan: Plan
    recordings: tuple[OpenTrace, ...]  # in the plan's order
    build: Build
    plain_heap_bytes: int
    measured_heap_bytes: int
    least_bytes: int
    sizes_count: int
    replays: int
    search_seconds: float
    found: replayed.Measured
    pools: pools.Choice
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


@dataclass(frozen=True)
class Wanted:
    """How to plan. `layout` is the target's (default: the layout of the recordings' ABI).

    `margin` None: as the recordings advise. With `is_input_fixed` the replayed planner judges
    by these recordings alone. `pools` is one of pools.WAYS, for the replayed planner.
    `is_as_recorded` takes sizes of another ABI as they are, without pools.
    """

    planner: str = "replayed"
    classes_max: int = CLASSES_MAX
    margin: float | None = 0.0
    layout: str | None = None
    skip_misuse: bool = False
    is_input_fixed: bool = False
    pools: str = pools.ALWAYS
    is_as_recorded: bool = False
    build: Build = Build()

    def __post_init__(self) -> None:
        """Raise TauError for a value that no plan can have."""
        planners = [each for each in PLANNERS if each != BANDS]
        choices = {"planner": planners, "pools": pools.WAYS, "layout": (None, *LAYOUTS)}
        for name, known in choices.items():
            value = getattr(self, name)
            if value not in known:
                step = f"use one of {', '.join(filter(None, known))}"
                raise TauError(f"{name} {value!r} is unknown", step)
        for name, most in (("margin", MARGIN_MAX), ("classes_max", CLASSES_MAX)):
            value = getattr(self, name)
            is_default = name == "margin" and value is None
            if not is_default and not (isinstance(value, int | float) and 0 <= value <= most):
                raise TauError(f"{name} {value!r} is not a number from 0 to {most:g}")


def make_plan(
    traces: Sequence[Path | TraceReader],
    wanted: Wanted = Wanted(),
    tick: Callable[[], None] = lambda: None,
) -> Made:
    """Plan a heap that holds every recording, measured by replay; no other section.

    `tick` is called after each replay of the search, which ends with the best so far if it raises
    SearchEnded. Raises TauError for a recording that cannot be planned from.
    """
    started = time.perf_counter()
    readers = [one if isinstance(one, TraceReader) else open_trace(one) for one in traces]
    for reader in readers:
        _refuse_empty(reader)
    layout = sizes.layout_of(readers, wanted.layout)
    said = sizes.sizes_of(readers, layout, wanted.is_as_recorded)
    wanted = replace(wanted, layout=layout)
    if said == sizes.AS_RECORDED:
        wanted = replace(wanted, classes_max=0)
    alignment = wanted.build.alignment_in(layout)
    opened = [open_trace_for_replay(reader) for reader in readers]
    profile = profile_of(opened, alignment, wanted.skip_misuse)
    recordings = [ReplayedRecording(trace, layout, wanted.build) for trace in opened]
    searched = _searched_in_part(profile, recordings, wanted, tick)
    names = [reader.path.name for reader in readers]
    spread = spread_of(recordings, names, searched.found.classes, searched.alone)
    choice, classes = _choice(searched.found, profile, wanted, spread)
    measured = choice.pooled_bytes if choice.is_taken else choice.plain_bytes
    chosen = margin_of(spread, len(recordings), wanted.margin, wanted.is_input_fixed)
    heap_bytes = with_margin(measured, chosen.fraction, layout)
    optimal_within = searched.optimal_within
    if wanted.planner == REPLAYED:
        optimal_within = _distance(measured, profile.peak_live_bytes)
    plan = Plan(
        classes=classes,
        heap_bytes=safe_heap(recordings, classes, heap_bytes),
        planner=wanted.planner,
        optimal_within=math.ceil(optimal_within * 1e6) / 1e6,
        margin=chosen.fraction,
        margin_source=chosen.source,
        spread=None if spread is None else round(spread.fraction, 6),
        layout=layout,
        sizes=said,
        alignment_bytes=max(alignment, *(each.alignment_bytes for each in recordings)),
        traces=tuple(map(recorded, readers)),
        sections={built.NAME: built.of(wanted.build, layout)},
    )
    validate(plan)
    return Made(
        plan=plan,
        recordings=profile.traces,
        build=wanted.build,
        plain_heap_bytes=choice.plain_bytes,
        measured_heap_bytes=measured,
        least_bytes=profile.peak_live_bytes,
        sizes_count=len(profile.sizes),
        replays=sum(recording.replays for recording in recordings),
        search_seconds=time.perf_counter() - started,
        found=searched.found,
        pools=choice,
        margin=chosen,
        spread=spread,
        alone=searched.alone,
    )


def replays_at_most(events: Sequence[int], wanted: Wanted) -> int:
    """How many replays the search of recordings with so many events takes at most, about.

    Each recording is searched alone, then all together.
    """
    searched = [EVENTS_OF_PART if each > EVENTS_SEARCHED_MAX else each for each in events]
    groups = [[each] for each in searched] if len(searched) > 1 else []
    passes = 2 if wanted.is_input_fixed else 1
    return passes * sum(replayed.replays_at_most(sum(group)) for group in [*groups, searched])


def _searched_in_part(
    profile: Profile,
    recordings: Sequence[ReplayedRecording],
    wanted: Wanted,
    tick: Callable[[], None],
) -> _Searched:
    """Search long recordings where their peaks are, and confirm the classes on the whole.

    A search takes hundreds of replays. Of a recording of more than EVENTS_SEARCHED_MAX events it
    gets the EVENTS_OF_PART around the peak, after what is alive at their start.
    """
    long = [recording.events > EVENTS_SEARCHED_MAX for recording in recordings]
    if wanted.planner != REPLAYED or wanted.classes_max == 0 or not any(long):
        return _searched(profile, recordings, wanted, tick)
    traces = [
        _part_at_peak(each.trace) if is_long else each.trace
        for each, is_long in zip(recordings, long, strict=True)
    ]
    parts = [ReplayedRecording(each, wanted.layout, wanted.build) for each in traces]
    of_parts = profile_of(traces, profile.granule_bytes, wanted.skip_misuse)
    searched = _searched(of_parts, parts, wanted, tick)
    found = _measure(searched.found.classes, recordings, tick)
    return searched._replace(found=replace(found, starts=searched.found.starts))


def _part_at_peak(trace: OpenTrace) -> OpenTrace:
    """The events around the peak of live bytes; most are before it."""
    events = int(trace.facts.events)
    end = min(int(trace.facts.peak_event) + EVENTS_OF_PART // 4, events)
    first = max(end - EVENTS_OF_PART, 0)
    return trace.part(first, min(first + EVENTS_OF_PART, events))


class _Searched(NamedTuple):
    """A planner's result, and its `optimal_within`.

    `alone` has the classes found for each of several recordings by itself.
    """

    found: replayed.Measured
    optimal_within: float
    alone: tuple[Classes, ...] = ()


def _searched(
    profile: Profile,
    recordings: Sequence[ReplayedRecording],
    wanted: Wanted,
    tick: Callable[[], None],
) -> _Searched:
    if wanted.planner != REPLAYED:
        classes, proved = starts.formula_classes(profile, wanted.planner, wanted.classes_max)
        return _Searched(_measure(classes, recordings, tick), proved)
    several = profile.traces if len(recordings) > 1 else ()
    own = [profile_of([one], profile.granule_bytes, wanted.skip_misuse) for one in several]
    settings = (wanted.classes_max, tick, wanted.is_input_fixed)
    found, alone = replayed.plan_several(profile, own, recordings, *settings)
    return _Searched(found, 0.0, alone)


def _choice(
    found: replayed.Measured, profile: Profile, wanted: Wanted, spread: Spread | None
) -> tuple[pools.Choice, Classes]:
    """Both heaps, and the classes that are taken."""
    pooled, plain, classes = found.heap_bytes, found.plain_heap_bytes, found.classes
    if not classes:
        is_cut = any(start.refused == replayed.NOT_TRIED for start in found.starts)
        why = "the search was interrupted early" if is_cut else "no pool saves anything"
        return pools.Choice(plain, plain, 0.0, False, why), ()
    if wanted.planner != REPLAYED:
        return pools.Choice(pooled, plain, 0.0, True, f"--planner {wanted.planner}"), classes
    heaps = None if spread is None else (spread.plain.least, spread.plain.most)
    differs = pools.spread_of(heaps, len(profile.sizes), wanted.is_input_fixed)
    choice = pools.choose(wanted.pools, pooled, plain, differs)
    return choice, classes if choice.is_taken else ()


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
        system=plan.system,
        heap_bytes=with_margin(made.plain_heap_bytes, plan.margin, plan.layout),
        build=made.build,
        note=note,
    )
    return replace(made, plan=replace(plan, sections=make_sections(basis)))


def _refuse_empty(reader: TraceReader) -> None:
    """Raise TauError for a trace that was cut before its first whole block: it has no event."""
    is_cut = any(remark.kind == RECOVERED for remark in reader.ending.remarks)
    if is_cut and not reader.totals.events:
        raise TauError(f"{reader.path}: no event could be recovered", "record again")


def recorded(reader: TraceReader) -> Any:
    """Return a plan's entry of a recording."""
    program = Path(str(reader.header.get("program") or "")).name
    return PlanTrace(
        name=reader.path.name,
        sha256=reader.sha256(),
        events=reader.totals.events,
        peak_live_bytes=reader.totals.peak_live_bytes,
        abi=abi.of_header(reader.header),
        translated_from=abi.translated_from(reader.header),
        incomplete=reader.ending.gaps,
        program=program.encode("utf-8", "replace").decode(),
    )


def _measure(
    classes: Classes,
    recordings: Sequence[ReplayedRecording],
    tick: Callable[[], None],
) -> replayed.Measured:
    """The safe heaps of `classes` and of plain TLSF."""
    heaps: list[int] = []
    for system in (classes, ()):
        heaps.append(safe_heap(recordings, system))
        with contextlib.suppress(SearchEnded):  # a formula's classes are all there is
            tick()
    return replayed.Measured(classes, heaps[0], heaps[1])


def _distance(value: int, least: int) -> float:
    """How far `value` can be above the optimum, which is `least` or more."""
    if value < least:
        raise TauError(
            f"a heap of {value} bytes cannot hold {least} live bytes", "report this as a bug"
        )
    return (value - least) / value if value else 0.0

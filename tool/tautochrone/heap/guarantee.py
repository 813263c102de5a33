"""A plan whose heap cannot fail within its limits, in any order of calls (core/pools.h).

The limits are the objects that the recordings had alive at once in each band, plus a margin. The
arena follows from them; no replay is needed. The plan's own sentence says when no call fails.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tautochrone.errors import TauError
from tautochrone.heap.plan import recorded as plan_trace
from tautochrone.heap.exceeding import exceeded
from tautochrone.heap.limits import Limits, Matched
from tautochrone.heap.planners import bands
from tautochrone.machine.core_build import Build
from tautochrone.plan import build as built
from tautochrone.plan import sizes
from tautochrone.plan.file import Plan, PlanClass, validate
from tautochrone.trace.ending import Ending, misuse_error
from tautochrone.trace.file import TraceReader, open_trace

DEFAULT_MARGIN = 0.15
GIVEN, DEFAULT = "given", "default"


class Row(NamedTuple):
    """A band of the plan: its largest size, its limit, and the most that was recorded.

    `stated` of the limit are from the user's own limits.
    """

    size_bytes: int
    count: int
    recorded: int
    stated: int


class Excess(NamedTuple):
    """How far one recording exceeds limits, such as a plan's of the other recordings.

    It exceeds `bands_count` bands by `objects` in all, which take `bytes`. `above_count` of its
    objects were alive at once that no band holds; the largest of them has `above_bytes`.
    """

    name: str
    bands_count: int
    objects: int
    bytes: int
    above_count: int
    above_bytes: int


@dataclass(frozen=True)
class Others:
    """Needs of the same recordings elsewhere, in bytes.

    `static_bytes`: a block for each object of each exact size, at the recorded numbers.
    `any_order_bytes`: what any allocator that moves nothing needs at least to hold every order of
    calls with this peak and any sizes from the smallest to the largest (Robson 1971).
    `half_fit_bytes`: what half-fit holds them in, 2 M (1 + log2 n), as o1heap's README states it,
    without its metadata.
    """

    static_bytes: int
    any_order_bytes: int
    half_fit_bytes: int


@dataclass(frozen=True)
class Guaranteed:
    """A plan of bands, and facts about it for people.

    `measured_heap_bytes` is the arena without the margin, `peak_live_bytes` the most that was live,
    as the program asked for it.
    """

    plan: Plan
    readers: tuple[TraceReader, ...]
    measured_heap_bytes: int
    peak_live_bytes: int
    sizes_count: int
    others: Others
    rows: tuple[Row, ...]
    limits: Limits
    seen: frozenset[str]  # names of limits that a recorded object falls under
    excesses: tuple[Excess, ...]  # each of several recordings, over a plan of the others
    seconds: float

    @property
    def endings(self) -> tuple[Ending, ...]:
        """How each recording ended."""
        return tuple(reader.ending for reader in self.readers)

    @property
    def margin_bytes(self) -> int:
        """Bytes that the margin of the limits adds to the arena."""
        return self.plan.heap_bytes - self.measured_heap_bytes


def make_guarantee(
    traces: Sequence[Path | TraceReader],
    margin: float | None = None,
    layout: str | None = None,
    core_build: Build = Build(),
    skip_misuse: bool = False,
    is_as_recorded: bool = False,
    limits: Limits = Limits(),
) -> Guaranteed:
    """Plan bands for all recordings, with an arena close to the smallest that bands can have.

    `margin` is added to every recorded limit; None: DEFAULT_MARGIN. `limits` of the user win over
    recorded ones, and get no margin. Raises TauError for recordings without an object or with
    misuse, for a limit of a call site that none has, and for bands that no memory holds.
    """
    started = time.perf_counter()
    readers = _opened(traces, skip_misuse)
    layout = sizes.layout_of(readers, layout)
    unit = core_build.alignment_in(layout)
    build = bands.build_of(core_build, layout)
    source = DEFAULT if margin is None else GIVEN
    margin = DEFAULT_MARGIN if margin is None else margin
    matched = Matched(limits, unit)
    plain = bands.sizes_of(readers, unit)
    recorded = bands.sizes_of(readers, unit, matched)
    matched.refuse_unseen()
    peak_live_bytes = max(int(reader.totals.peak_live_bytes) for reader in readers)
    if not len(recorded.sizes_bytes) or peak_live_bytes == 0:
        raise TauError(
            "the recordings have no object of a byte or more, so no limit can be planned",
            "record a run that allocates memory",
        )
    best, rows = _planned(recorded, plain, matched, build, margin)
    alignment = int(recorded.alignments.max())
    measured = _arena_bytes(build, best.bands, alignment)
    planned = [bands.Band(row.size_bytes, row.count) for row in rows]
    plan = Plan(
        classes=tuple(PlanClass(*each) for each in planned),
        heap_bytes=_arena_bytes(build, planned, alignment),
        planner="bands",
        optimal_within=math.ceil((measured - best.least_bytes) / measured * 1e6) / 1e6,
        margin=margin,
        margin_source=source,
        layout=layout,
        sizes=sizes.sizes_of(readers, layout, is_as_recorded),
        alignment_bytes=alignment,
        recorded_counts=tuple(row.recorded for row in rows),
        stated_counts=tuple(row.stated for row in rows) if limits.limits else None,
        traces=tuple(map(plan_trace, readers)),
        sections={built.NAME: built.of(core_build, layout)},
    )
    validate(plan)
    return Guaranteed(
        plan=plan,
        readers=readers,
        measured_heap_bytes=measured,
        peak_live_bytes=peak_live_bytes,
        sizes_count=len(recorded.sizes_bytes),
        others=_others(plain, bands.peaks_of(plain)),
        rows=rows,
        limits=limits,
        seen=frozenset(matched.seen),
        excesses=_left_out(readers, limits, build, margin, layout) if len(readers) > 1 else (),
        seconds=time.perf_counter() - started,
    )


def arena_problem(plan: Plan) -> str:
    """How a plan's heap differs from its bands' arena; "" if it does not, or has no bands."""
    if plan.system != "pools":
        return ""
    build = bands.build_of(built.build_of(plan), plan.layout)
    given = [bands.Band(*each) for each in plan.classes]
    arena = build.arena_bytes(given, plan.alignment_bytes)
    if arena == plan.heap_bytes:
        return ""
    return f"heap_bytes is {plan.heap_bytes:,}, but the bands and their tables take {arena:,}"


def _opened(traces: Sequence[Path | TraceReader], skip_misuse: bool) -> tuple[TraceReader, ...]:
    """The recordings. Raises TauError if one has misuse, unless that is left out."""
    readers = tuple(one if isinstance(one, TraceReader) else open_trace(one) for one in traces)
    for reader in readers:
        refusal = None if skip_misuse else misuse_error(reader.path, reader.header, reader.totals)
        if refusal is not None:
            raise refusal
    return readers


def _arena_bytes(build: bands.Build, limits: Sequence[bands.Band], alignment: int) -> int:
    arena = build.arena_bytes(limits, alignment)
    if arena == 0:
        largest = limits[-1].size_bytes
        raise TauError(
            f"no memory holds these limits: pools have at most"
            f" {bands.UNITS_MAX * build.granule_bytes:,} bytes together; the largest band has"
            f" {limits[-1].count:,} objects of {largest:,} bytes",
            "plan with smaller limits of your own or a smaller margin, or without --guarantee",
        )
    return arena


def _planned(
    sizes_: bands.Sizes,
    plain: bands.Sizes,
    matched: Matched,
    build: bands.Build,
    margin: float,
) -> tuple[bands.Best, tuple[Row, ...]]:
    """The bands with their limits: recorded ones with the margin, and stated ones.

    `plain` are all recorded objects, `sizes_` those without limits of the user's own.
    """
    peaks, more = bands.peaks_of(sizes_), matched.more(sizes_.sizes_bytes)
    best = bands.best_bands(sizes_, peaks + more, build)
    recorded = bands.peaks_of(plain)
    rows, low, low_plain = [], 0, 0
    for band in best.bands:
        high = int(sizes_.sizes_bytes.searchsorted(band.size_bytes, side="right"))
        high_plain = int(plain.sizes_bytes.searchsorted(band.size_bytes, side="right"))
        live = int(recorded[low_plain, high_plain - 1]) if high_plain > low_plain else 0
        own = bands.Band(band.size_bytes, int(peaks[low, high - 1]))
        stated = int(more[low, high - 1])
        count = with_margin([own], margin)[0].count + stated
        rows.append(Row(band.size_bytes, count, live, stated))
        low, low_plain = high, high_plain
    return best, tuple(rows)


def with_margin(limits: Sequence[bands.Band], margin: float) -> tuple[bands.Band, ...]:
    """The bands with their counts raised by a fraction, to the nearest whole object."""
    return tuple(
        limit._replace(count=int(limit.count * (1 + margin) + 0.5))
        for limit in limits
    )


def _left_out(
    readers: Sequence[TraceReader],
    limits: Limits,
    build: bands.Build,
    margin: float,
    layout: str,
) -> tuple[Excess, ...]:
    """Each recording against a plan of the others with the same limits and margin."""
    found, unit = [], build.granule_bytes
    for index, reader in enumerate(readers):
        others = [*readers[:index], *readers[index + 1 :]]
        matched = Matched(limits, unit)
        rest = bands.sizes_of(others, unit, matched)
        rows: tuple[Row, ...] = ()
        if len(rest.sizes_bytes):
            _, rows = _planned(rest, bands.sizes_of(others, unit), matched, build, margin)
        planned = Plan(
            classes=tuple(PlanClass(row.size_bytes, row.count) for row in rows),
            heap_bytes=0,
            planner="bands",
            optimal_within=0.0,
            layout=layout,
            alignment_bytes=int(rest.alignments.max(initial=unit)),
        )
        found.append(_excess(reader, planned))
    return tuple(found)


def _excess(reader: TraceReader, plan: Plan) -> Excess:
    """How far a recording exceeds the limits of a plan."""
    rows = exceeded(reader, plan)
    over = [(row.peak_count - row.limit_count, row.size_bytes) for row in rows if row.limit_count]
    above = [row for row in rows if not row.limit_count]
    return Excess(
        name=reader.path.name,
        bands_count=len(over),
        objects=sum(objects for objects, _ in over),
        bytes=sum(objects * size_bytes for objects, size_bytes in over),
        above_count=above[0].peak_count if above else 0,
        above_bytes=above[0].size_bytes if above else 0,
    )


def _others(recorded: bands.Sizes, peaks: Any) -> Others:
    """Bounds of other ways with the same peak and the same largest and smallest size.

    Robson's bound is for sizes that are powers of two from 1 to n: M (1 + log2(n) / 2) - n + 1. It
    holds with n rounded down. In units of the smallest size.
    """
    static_bytes = int(sum(recorded.sizes_bytes * peaks.diagonal()))
    least, largest = (int(recorded.sizes_bytes[at]) for at in (0, -1))
    live = _peak_bytes(recorded)
    log = int(math.log2(largest / least))
    any_order = live + live * log / 2 - (2**log - 1) * least
    half_fit = 2 * live * (1 + math.ceil(math.log2(largest / least)))
    return Others(static_bytes, int(any_order), half_fit)


def _peak_bytes(recorded: bands.Sizes) -> int:
    """The most bytes alive at once, sizes rounded up."""
    weights = np.repeat(recorded.sizes_bytes, np.diff(recorded.first.astype(np.int64)))
    moves = np.zeros(recorded.instants_count + 1, np.int64)
    np.add.at(moves, recorded.changes["instant"], recorded.changes["delta"] * weights)
    return int(np.cumsum(moves).max())

"""Figures of a program's heap: live bytes, the heap of each allocator, pools, and sizes."""

from collections.abc import Collection, Sequence
from heapq import nlargest
from typing import Any

import numpy as np

from tautochrone.plan.contract import sentence
from tautochrone.plan.file import Plan, bucket_bytes
from tautochrone.replay.entry import OURS, PLANNED, Entry
from tautochrone.replay.systems import systems
from tautochrone.report.curves import Curves
from tautochrone.report.figure import (
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    RED,
    ROW_PIXELS,
    SMALL_HEIGHT_PIXELS,
    Axis,
    Figure,
    Limit,
    Panel,
    mark,
    of_bytes,
)

CURVES_SHOWN_MAX = 6
PART_COLORS = {
    **{"live": BLUE, "headers": ORANGE, "rounding": RED, "tables": GREEN, "free": GRAY},
    **{"margin": "#9cc7ec", "not known": "#c4b7a6"},
}
CIRCLE_PIXELS_MIN, CIRCLE_PIXELS_MAX = 4, 26
SIZES_MAX = 4000  # A recording can have any number.


def live_bytes(curves: Curves) -> Panel:
    """The band between the fewest and the most live bytes of each bin."""
    band = {"x": curves.x, "low": curves.live_bytes.low, "high": curves.live_bytes.high}
    text = [f"peak {of_bytes(curves.peak_bytes)}"]
    peak = {"x": [curves.peak_x], "y": [curves.peak_bytes], "text": text}
    figure = Figure(
        Axis(curves.x_label),
        Axis("live bytes", is_bytes=True, start=0),
        [
            mark("steps", band, y="high", low=0, color=BLUE, shade=0.18),
            mark("steps", band, y="high", low="low", color=BLUE, shade=0.5),
            mark("scatter", peak, marker="diamond", color=RED),
        ],
    )
    columns = {
        curves.x_label: curves.x.round(6).tolist(),
        "live_bytes_min": curves.live_bytes.low.tolist(),
        "live_bytes_max": curves.live_bytes.high.tolist(),
    }
    caption = (
        "Bytes of all live objects, as requested by the program. The figure shows the smallest and"
        f" the largest value of each of {len(curves.x):,} bins, so no maximum is lost."
        f" {of_bytes(curves.end_bytes)} were still live at the end."
    )
    return Panel("live-bytes", "Live bytes over time", caption, figure, columns)


def footprints(entries: Sequence[Entry], peak_live_bytes: int) -> Panel:
    """The heap that each system needs, without systems that failed; the smallest at the top."""
    done = [entry for entry in entries if entry.held and entry.footprint_bytes]
    done.sort(key=lambda entry: entry.footprint_bytes)
    sizes = [entry.footprint_bytes for entry in done]
    ratios = [round(size / max(peak_live_bytes, 1), 5) for size in sizes]
    columns = {
        "system": [entry.name for entry in done],
        "footprint_bytes": sizes,
        "footprint_over_peak_live": ratios,
    }
    drawn = {
        **columns,
        "color": [BLUE if entry.role in (OURS, PLANNED) else GRAY for entry in done],
        "text": [
            f"{of_bytes(size)}  ({ratio:.3f})" for size, ratio in zip(sizes, ratios, strict=True)
        ],
        "tip": [f"{entry.name}: {size:,} B" for entry, size in zip(done, sizes, strict=True)],
    }
    bars = {"y": "system", "right": "footprint_bytes"}
    figure = Figure(
        Axis("heap", is_bytes=True, start=0),
        Axis(names=columns["system"]),
        [mark("bars", drawn, color="color", **bars)],
        limits=[Limit(peak_live_bytes, RED, "height", "peak of live bytes")],
        height=ROW_PIXELS * max(len(done), 1),
    )
    caption = (
        "The safe heap: the whole recording completes in it and in larger ones (of peers, in those"
        " that were sampled). Control structures are included. In parentheses: its ratio to the"
        " peak of live bytes (dashed)."
    )
    if "pools" in columns["system"]:
        caption += (
            " The bar of pools is the whole arena of their plan, with its margin: it holds every"
            " order of calls within the plan's limits, not only the recorded one."
        )
    host = [entry.name for entry in done if entry.in_process]
    failed = [entry.name for entry in entries if not entry.held]
    if host:
        caption += f" Run unmodified in a 64-bit process, whose growth is shown: {', '.join(host)}."
    if failed:
        caption += f" Did not complete: {', '.join(failed)}."
    lines = {name: _about(name) for name in columns["system"]}
    title = "The heap each allocator needs"
    return Panel("footprints", title, caption, figure, columns, lines)


def _about(name: str) -> str:
    """One line on a system, "" for one that is not listed."""
    return systems()[name].about.removesuffix("; needs --plan") if name in systems() else ""


def heap_parts(entries: Sequence[Entry], peak_live_bytes: int) -> Panel | None:
    """Each heap at the peak of live bytes, as parts whose sum is its size; None if none is known.

    Of a peer that needs not much more, only the live bytes are known.
    """
    most = 2 * max((entry.footprint_bytes for entry in entries if entry.heap_parts), default=0)
    held = (entry for entry in entries if entry.held and entry.footprint_bytes < most)
    shown = sorted(held, key=lambda entry: entry.footprint_bytes)
    if not shown:
        return None
    known = [_parts(entry, peak_live_bytes) for entry in shown]
    columns: dict[str, list[Any]] = {"system": [entry.name for entry in shown]}
    columns |= {part: [parts.get(part, 0) for parts in known] for part in PART_COLORS}
    marks, left = [], np.zeros(len(shown), np.int64)
    for part, color in PART_COLORS.items():
        right = left + columns[part]
        tips = [f"{part} {size:,} B" for size in columns[part]]
        drawn = {"y": columns["system"], "left": left, "right": right, "tip": tips}
        marks += [mark("bars", drawn, color=color, label=part)] if any(columns[part]) else []
        left = right
    lines = {
        entry.name: ", ".join(f"{part} {of_bytes(size)}" for part, size in parts.items() if size)
        for entry, parts in zip(shown, known, strict=True)
    }
    axes = (Axis("heap", is_bytes=True, start=0), Axis(names=columns["system"]))
    caption = (
        "At the peak of live bytes, in the least safe heap for the recording: live is what the"
        " program asked for. Rounding makes blocks of it, each with a header unless a pool has it."
        " Free is what holes, pools and later peaks leave. The margin is the plan's."
    )
    figure = Figure(*axes, marks, height=ROW_PIXELS * len(shown))
    return Panel("heap-parts", "Where a heap's bytes go", caption, figure, columns, lines)


def _parts(entry: Entry, peak_live_bytes: int) -> dict[str, int]:
    """The parts of a heap, with its plan's margin, or what is known of a peer."""
    if entry.heap_parts is None:
        return {"live": peak_live_bytes, "not known": entry.footprint_bytes - peak_live_bytes}
    margin = max((entry.plan_heap_bytes or 0) - entry.footprint_bytes, 0)
    return {**entry.heap_parts, "margin": margin}


def limits(curves: Curves, plan: Plan) -> Panel:
    """The limits of a plan of bands, next to the plan's inputs and this recording's counts."""
    blocks = [bucket_bytes(size_bytes, plan.alignment_unit) for size_bytes, _ in plan.classes]
    columns: dict[str, Sequence[Any]] = {
        "sizes from": [1, *(block + 1 for block in blocks[:-1])],
        "sizes up to": blocks,
        "limit": [count for _, count in plan.classes],
        "recorded": plan.recorded_counts or (),
    }
    if plan.stated_counts is not None:
        columns["stated by the user"] = plan.stated_counts
    columns["this recording"] = [int(curves.classes[block].high.max()) for block in blocks]
    caption = f"{sentence(plan)} The columns are numbers of objects that are alive at once."
    return Panel("limits", "The plan's limits", caption, None, columns)


def pools(curves: Curves, classes: Sequence[tuple[int, int]]) -> Panel:
    """The plan's `classes`, pairs of size in bytes and buckets, with the `curves` of each."""
    columns = {
        "size_bytes": [size for size, _ in classes],
        "buckets": [count for _, count in classes],
        "peak_live_objects": [int(curves.classes[size].high.max()) for size, _ in classes],
        "dedicated_bytes": [size * count for size, count in classes],
    }
    tips = [
        f"objects of {size:,} B: {count:,} buckets ({size * count:,} B), peak live {live:,}"
        for (size, count), live in zip(classes, columns["peak_live_objects"], strict=True)
    ]
    drawn = {**columns, "tip": tips}
    bars = {"top": "buckets", "color": BLUE, "label": "buckets (N)", "pixels": 7, "shade": 0.6}
    live = {"y": "peak_live_objects", "color": ORANGE, "label": "peak of live objects (P)"}
    largest = sorted(classes, key=lambda entry: entry[0] * entry[1], reverse=True)
    small = [_pool_over_time(curves, size, count) for size, count in largest[:CURVES_SHOWN_MAX]]
    figure = Figure(
        Axis("object size of the pool", is_log=True, is_bytes=True),
        Axis("objects", start=0),
        [
            mark("bars", drawn, x="size_bytes", **bars),
            mark("scatter", drawn, x="size_bytes", marker="dash", **live),
        ],
        also=small,
    )
    shown = "each pool" if len(small) == len(classes) else f"the {len(small)} largest pools"
    caption = (
        "An object that finds its pool full goes to the shared region."
        f" The small figures show the live objects of {shown}; the line is N."
    )
    return Panel("classes", "The plan's pools", caption, figure, columns)


def _pool_over_time(curves: Curves, size: int, count: int) -> Figure:
    """The live objects of one class."""
    band = {"x": curves.x, "y": curves.classes[size].high}
    return Figure(
        Axis(curves.x_label),
        Axis("objects", start=0),
        [mark("steps", band, low=0, color=GRAY, shade=0.3)],
        limits=[Limit(count, BLUE, dash="solid")],
        height=SMALL_HEIGHT_PIXELS,
        title=f"{size:,} B × {count:,}",
    )


def sizes(
    rows: Sequence[tuple[int, int, int]],
    class_sizes: Collection[int],
    granule_bytes: int = 8,
    is_banded: bool = False,
) -> Panel:
    """ROWS of size in bytes, allocations and peak live objects; `class_sizes` are the plan's.

    With `is_banded` each size up to the largest of them has a pool. At most SIZES_MAX sizes are
    shown, those with the most live bytes at their peak.
    """
    most_bytes = max(class_sizes, default=0)
    found = [row for row in rows if row[0] > 0]
    shown = sorted(nlargest(SIZES_MAX, found, key=lambda row: (row[0] * row[2], row[1])))
    columns = {
        "size_bytes": [size for size, _, _ in shown],
        "allocations": [count for _, count, _ in shown],
        "peak_live_objects": [live for _, _, live in shown],
        "peak_live_bytes": [size * live for size, _, live in shown],
        "in_plan": [
            int(
                size <= most_bytes
                if is_banded
                else -(-size // granule_bytes) * granule_bytes in class_sizes
            )
            for size, _, _ in shown
        ],
    }
    most = max(columns["peak_live_bytes"], default=1) or 1
    spread = CIRCLE_PIXELS_MAX - CIRCLE_PIXELS_MIN
    pixels = [
        CIRCLE_PIXELS_MIN + spread * (live_bytes / most) ** 0.5
        for live_bytes in columns["peak_live_bytes"]
    ]
    tips = [
        f"{size:,} B: {count:,} allocations, peak live {live:,} objects, {size * live:,} B"
        for size, count, live in shown
    ]
    marks = []
    outside = "above all bands" if is_banded else "shared region"
    for flag, color, label in ((0, GRAY, outside), (1, BLUE, "pool")):
        chosen = [index for index, in_plan in enumerate(columns["in_plan"]) if in_plan == flag]
        if chosen:
            drawn = {
                name: [values[index] for index in chosen]
                for name, values in {**columns, "pixels": pixels, "tip": tips}.items()
            }
            look = {"size": "pixels", "color": color, "shade": 0.55, "label": label}
            marks.append(mark("scatter", drawn, x="size_bytes", y="allocations", **look))
    counts = columns["allocations"]
    figure = Figure(
        Axis("requested size", is_log=True, is_bytes=True),
        # Room for a whole circle above the largest number and below the smallest.
        Axis(
            "allocations",
            is_log=True,
            start=0.4 * max(min(counts), 1) if counts else None,
            end=4 * max(counts) if counts else None,
        ),
        marks,
    )
    caption = f"{len(found):,} different sizes. The area of a circle is the peak of live bytes."
    if len(found) > len(shown):
        caption += f" Shown are the {len(shown):,} sizes with the largest peaks."
    return Panel("sizes", "Sizes", caption, figure, columns)

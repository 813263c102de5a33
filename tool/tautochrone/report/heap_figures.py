"""Figures of a program's heap: live bytes, the heap of each allocator, pools, and sizes."""

from collections.abc import Collection, Sequence
from typing import Any

from tautochrone.plan.contract import sentence
from tautochrone.plan.file import Plan, bucket_bytes
from tautochrone.replay.entry import OURS, PLANNED, Entry
from tautochrone.report.curves import Curves
from tautochrone.report.figure import (
    BLUE,
    GRAY,
    ORANGE,
    RED,
    SMALL_HEIGHT_PIXELS,
    Axis,
    Figure,
    Limit,
    Panel,
    Peak,
    mark,
    of_bytes,
)

BAR_PIXELS = 34
CURVES_SHOWN_MAX = 6
CIRCLE_PIXELS_MIN, CIRCLE_PIXELS_MAX = 4, 26
TIME_FORMAT = "0,0.[000]"  # Events, or times.


def live_bytes(curves: Curves) -> Panel:
    """The band between the fewest and the most live bytes of each bin."""
    band = {"x": curves.x, "low": curves.live_bytes.low, "high": curves.live_bytes.high}
    text = f"peak {of_bytes(curves.peak_bytes)}"
    figure = Figure(
        Axis(curves.x_label, format=TIME_FORMAT),
        Axis("live bytes", is_bytes=True, start=0),
        [
            mark("varea", band, x="x", y1=0, y2="high", color=BLUE, alpha=0.18),
            mark("varea", band, x="x", y1="low", y2="high", color=BLUE, alpha=0.5),
            mark("step", band, True, x="x", y="high", color=BLUE, line_width=1.5, mode="after"),
        ],
        tips=[
            (curves.x_label, "@x{0.000}"),
            ("maximum", "@high{0,0} B"),
            ("minimum", "@low{0,0} B"),
        ],
        tip_mode="vline",
        peak=Peak(curves.peak_x, curves.peak_bytes, text, curves.peak_x > curves.x[-1] / 2),
    )
    columns = {
        curves.x_label: curves.x.tolist(),
        "live_bytes_min": curves.live_bytes.low.tolist(),
        "live_bytes_max": curves.live_bytes.high.tolist(),
    }
    caption = (
        "Bytes of all live objects, as requested by the program. The figure shows the smallest and"
        f" the largest value of each of {len(curves.x)} bins, so no maximum is lost."
        f" {of_bytes(curves.end_bytes)} were still live at the end."
    )
    return Panel("live-bytes", "Live bytes over time", caption, figure, columns)


def footprints(entries: Sequence[Entry], peak_live_bytes: int) -> Panel:
    """The heap that each system needs, without systems that failed; the smallest at the top."""
    done = [entry for entry in entries if entry.held and entry.footprint_bytes]
    done.sort(key=lambda entry: entry.footprint_bytes, reverse=True)
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
    }
    figure = Figure(
        Axis("heap", is_bytes=True, start=0, end=1.3 * max(sizes, default=1)),
        Axis(names=columns["system"]),
        [
            mark(
                "hbar", drawn, True, y="system", height=0.62, right="footprint_bytes", color="color"
            )
        ],
        tips=[("@system", "@footprint_bytes{0,0} B")],
        limits=[Limit(peak_live_bytes, RED, across="height")],
        labels=("footprint_bytes", "system", "text"),
        height=90 + BAR_PIXELS * max(len(done), 1),
        has_tools=False,
    )
    caption = (
        "Smallest heap in which the whole recording completes, control structures included. In"
        " parentheses: its ratio to the peak of live bytes (dashed)."
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
    return Panel("footprints", "The heap each allocator needs", caption, figure, columns)


def limits(curves: Curves, plan: Plan) -> Panel:
    """The limits of a plan of bands, next to the plan's inputs and this recording's counts."""
    blocks = [bucket_bytes(size_bytes, plan.layout) for size_bytes, _ in plan.classes]
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
    names = [f"{size:,}" for size, _ in classes]
    drawn = {**columns, "name": names}
    bars = {"top": "buckets", "color": BLUE, "legend_label": "buckets (N)"}
    dashes = {"marker": "dash", "size": 18, "line_width": 3, "color": ORANGE}
    largest = sorted(classes, key=lambda entry: entry[0] * entry[1], reverse=True)
    small = [_pool_over_time(curves, size, count) for size, count in largest[:CURVES_SHOWN_MAX]]
    figure = Figure(
        Axis("object size of the pool (bytes)", names=names, turned=0.9 if len(names) > 12 else 0),
        Axis("objects", start=0),
        [
            mark("vbar", drawn, True, x="name", width=0.7, alpha=0.6, **bars),
            mark(
                "scatter",
                drawn,
                x="name",
                y="peak_live_objects",
                legend_label="peak of live objects (P)",
                **dashes,
            ),
        ],
        tips=[
            ("pool", "objects of @name B"),
            ("buckets", "@buckets{0,0} (@dedicated_bytes{0,0} B)"),
            ("peak live", "@peak_live_objects{0,0}"),
        ],
        small=small,
    )
    caption = (
        "An object that finds its pool full goes to the shared region."
        f" The small figures show live objects of the {len(small)} largest pools; the line is N."
    )
    return Panel("classes", "The plan's pools", caption, figure, columns)


def _pool_over_time(curves: Curves, size: int, count: int) -> Figure:
    """The live objects of one class."""
    band = {"x": curves.x, "high": curves.classes[size].high}
    return Figure(
        Axis(curves.x_label, format=TIME_FORMAT),
        Axis("objects", start=0),
        [
            mark("varea", band, x="x", y1=0, y2="high", color=GRAY, alpha=0.3),
            mark("step", band, x="x", y="high", color=GRAY, mode="after"),
        ],
        limits=[Limit(count, BLUE, dash="solid", line_width=2)],
        height=SMALL_HEIGHT_PIXELS,
        has_tools=False,
        title=f"{size:,} B × {count:,}",
    )


def sizes(
    rows: Sequence[tuple[int, int, int]],
    class_sizes: Collection[int],
    granule_bytes: int = 8,
    is_banded: bool = False,
) -> Panel:
    """ROWS of size in bytes, allocations and peak live objects; `class_sizes` are the plan's.

    With `is_banded` each size up to the largest of them has a pool.
    """
    most_bytes = max(class_sizes, default=0)
    shown = [row for row in rows if row[0] > 0]
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
    marks = []
    outside = "above all bands" if is_banded else "shared region"
    for flag, color, label in ((0, GRAY, outside), (1, BLUE, "pool")):
        chosen = [index for index, in_plan in enumerate(columns["in_plan"]) if in_plan == flag]
        if chosen:
            drawn = {
                name: [values[index] for index in chosen]
                for name, values in {**columns, "pixels": pixels}.items()
            }
            look = {"size": "pixels", "color": color, "alpha": 0.55, "legend_label": label}
            marks.append(mark("scatter", drawn, True, x="size_bytes", y="allocations", **look))
    counts = columns["allocations"]
    figure = Figure(
        Axis("requested size (bytes)", is_log=True),
        # Room for a whole circle above the largest number and below the smallest.
        Axis(
            "allocations",
            is_log=True,
            start=0.4 * max(min(counts), 1) if counts else None,
            end=4 * max(counts) if counts else None,
        ),
        marks,
        tips=[
            ("size", "@size_bytes{0,0} B"),
            ("allocations", "@allocations{0,0}"),
            ("peak live", "@peak_live_objects{0,0} objects, @peak_live_bytes{0,0} B"),
        ],
    )
    caption = f"{len(shown):,} different sizes. The area of a circle is the peak of live bytes."
    return Panel("sizes", "Sizes", caption, figure, columns)

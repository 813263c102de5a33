"""Draws the sizes that the program requests, how often, and which get a pool."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bokeh.models import ColumnDataSource, HoverTool

from tautochrone.report.panel import BLUE, GRAY, Panel, plain_figure

CIRCLE_PIXELS_MIN, CIRCLE_PIXELS_MAX = 4, 26


def draw(
    sizes: Sequence[tuple[int, int, int]], class_sizes: Collection[int], granule_bytes: int = 8
) -> Panel:
    """Draw (size in bytes, allocations, peak live objects); `class_sizes` are the plan's."""
    shown = [row for row in sizes if row[0] > 0]
    planned = [-(-size // granule_bytes) * granule_bytes in class_sizes for size, _, _ in shown]
    live_bytes = [size * live for size, _, live in shown]
    most = max(live_bytes, default=1) or 1
    columns = {
        "size_bytes": [row[0] for row in shown],
        "allocations": [row[1] for row in shown],
        "peak_live_objects": [row[2] for row in shown],
        "peak_live_bytes": live_bytes,
        "in_plan": [int(flag) for flag in planned],
    }
    spread = CIRCLE_PIXELS_MAX - CIRCLE_PIXELS_MIN
    plot = plain_figure(
        x_axis_type="log",
        y_axis_type="log",
        x_axis_label="requested size (bytes)",
        y_axis_label="allocations",
    )
    for flag, color, label in ((False, GRAY, "shared region"), (True, BLUE, "pool")):
        rows = [index for index, is_planned in enumerate(planned) if is_planned == flag]
        if not rows:
            continue
        data = {name: [values[index] for index in rows] for name, values in columns.items()}
        data["pixels"] = [
            CIRCLE_PIXELS_MIN + spread * (live_bytes[index] / most) ** 0.5 for index in rows
        ]
        circles = plot.scatter(
            "size_bytes",
            "allocations",
            size="pixels",
            source=ColumnDataSource(data),
            color=color,
            alpha=0.55,
            legend_label=label,
        )
        tips = [
            ("size", "@size_bytes{0,0} B"),
            ("allocations", "@allocations{0,0}"),
            ("peak live", "@peak_live_objects{0,0} objects, @peak_live_bytes{0,0} B"),
        ]
        plot.add_tools(HoverTool(renderers=[circles], tooltips=tips))
    if shown:
        # Room for a whole circle above the largest number and below the smallest.
        counts = columns["allocations"]
        plot.y_range.start, plot.y_range.end = 0.4 * max(min(counts), 1), 4 * max(counts)
        plot.legend.location = "top_right"
        plot.legend.background_fill_alpha = 0
        plot.legend.border_line_color = None
    caption = (
        f"{len(shown):,} different sizes. The area of a circle is the peak of live bytes."
    )
    return Panel("sizes", "Sizes", caption, plot, columns)

"""Draws each class of the plan: its buckets (N) and its peak of live objects (P)."""

from __future__ import annotations

from collections.abc import Sequence

from bokeh.layouts import column, gridplot
from bokeh.models import ColumnDataSource, HoverTool, NumeralTickFormatter, Span

from tautochrone.report.curves import Curves
from tautochrone.report.panel import BLUE, GRAY, ORANGE, Panel, plain_figure

CURVES_SHOWN_MAX = 6
SMALL_HEIGHT_PIXELS = 170


def draw(curves: Curves, classes: Sequence[tuple[int, int]]) -> Panel:
    """Draw the plan's `classes`, pairs of size in bytes and buckets, against the `curves`."""
    peaks = [int(curves.classes[size].high.max()) for size, _ in classes]
    columns = {
        "size_bytes": [size for size, _ in classes],
        "buckets": [count for _, count in classes],
        "peak_live_objects": peaks,
        "dedicated_bytes": [size * count for size, count in classes],
    }
    names = [f"{size:,}" for size, _ in classes]
    source = ColumnDataSource({**columns, "name": names})
    plot = plain_figure(
        x_range=names, x_axis_label="object size of the pool (bytes)", y_axis_label="objects"
    )
    plot.y_range.start = 0
    plot.xaxis.major_label_orientation = 0.9 if len(names) > 12 else 0
    bars = plot.vbar(
        "name", 0.7, "buckets", source=source, color=BLUE, alpha=0.6, legend_label="buckets (N)"
    )
    plot.scatter(
        "name",
        "peak_live_objects",
        source=source,
        marker="dash",
        size=18,
        line_width=3,
        color=ORANGE,
        legend_label="peak of live objects (P)",
    )
    tips = [
        ("pool", "objects of @name B"),
        ("buckets", "@buckets{0,0} (@dedicated_bytes{0,0} B)"),
        ("peak live", "@peak_live_objects{0,0}"),
    ]
    plot.add_tools(HoverTool(renderers=[bars], tooltips=tips))
    plot.add_layout(plot.legend[0], "above")
    plot.legend.orientation = "horizontal"
    plot.legend.background_fill_alpha = 0
    plot.legend.border_line_color = None
    largest = sorted(classes, key=lambda entry: entry[0] * entry[1], reverse=True)
    small = [_over_time(curves, size, count) for size, count in largest[:CURVES_SHOWN_MAX]]
    grid = gridplot(small, ncols=3, sizing_mode="stretch_width", toolbar_location=None)
    caption = (
        "An object that finds its pool full goes to the shared region."
        f" The small figures show live objects of the {len(small)} largest pools; the line is N."
    )
    model = column(plot, grid, sizing_mode="stretch_width")
    return Panel("classes", "The plan's pools", caption, model, columns)


def _over_time(curves: Curves, size: int, count: int):  # noqa: ANN202 (Bokeh's figure)
    """Draw how many objects of one class were live over time."""
    band = curves.classes[size]
    source = ColumnDataSource({"x": curves.x, "high": band.high})
    plot = plain_figure(
        height=SMALL_HEIGHT_PIXELS,
        title=f"{size:,} B × {count:,}",
        tools="",
        x_axis_label=curves.x_label,
        y_axis_label="objects",
    )
    plot.xaxis[0].formatter = NumeralTickFormatter(format="0,0.[000]")  # events, or times
    plot.y_range.start = 0
    plot.varea(x="x", y1=0, y2="high", source=source, color=GRAY, alpha=0.3)
    plot.step("x", "high", source=source, color=GRAY, mode="after")
    plot.add_layout(Span(location=count, dimension="width", line_color=BLUE, line_width=2))
    plot.title.text_font_size = "12px"
    return plot

"""Draws the code that stays in RAM by threshold, with frames and without: Fig. 4 of the paper."""

from __future__ import annotations

from bokeh.models import ColumnDataSource, HoverTool, Span

from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.plan.code.space import Space
from tautochrone.report.code.look import place_legend, share
from tautochrone.report.panel import (
    BLUE,
    GRAY,
    ORANGE,
    Panel,
    label_bytes,
    of_bytes,
    plain_figure,
)


def draw(space: Space, frames: int) -> Panel:
    """Draw the footprint without frames, and with so many."""
    cache_bytes = frames * PAGE_BYTES
    parts = [part for part, _ in space.footprints]
    columns = {
        "threshold": parts,
        "resident_bytes": [resident for _, resident in space.footprints],
        "with_frames_bytes": [resident + cache_bytes for _, resident in space.footprints],
        "all_code_bytes": [space.code_bytes] * len(parts),
    }
    names = [share(part) for part in parts]
    source = ColumnDataSource({**columns, "name": names})
    plot = plain_figure(
        x_range=names, x_axis_label="threshold T", y_axis_label="code in RAM after boot"
    )
    label_bytes(plot.yaxis[0])
    plot.y_range.start, plot.y_range.end = 0, 1.08 * max(space.code_bytes, 1)
    marks = []
    for column, color, label in (
        ("with_frames_bytes", BLUE, f"with {frames} frames"),
        ("resident_bytes", ORANGE, "without frames"),
    ):
        plot.line("name", column, source=source, color=color, line_width=2, legend_label=label)
        marks.append(
            plot.scatter("name", column, source=source, color=color, size=7, legend_label=label)
        )
    plot.add_layout(
        Span(location=space.code_bytes, dimension="width", line_color=GRAY, line_dash="dashed")
    )
    tips = [
        ("T", "@name"),
        ("with frames", "@with_frames_bytes{0,0} B"),
        ("without", "@resident_bytes{0,0} B"),
    ]
    plot.add_tools(HoverTool(renderers=marks, tooltips=tips))
    place_legend(plot, 2)
    caption = (
        f"All code that stays after boot is {of_bytes(space.code_bytes)} (dashed). Code that is"
        " colder than T leaves. The pager's own data and page tables are not counted. Fig. 4 of the"
        " paper."
    )
    return Panel("code-footprint", "Code in RAM by threshold", caption, plot, columns)

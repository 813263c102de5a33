"""Draws the heap that each replayed system needs for this recording, smallest first."""

from __future__ import annotations

from collections.abc import Sequence

from bokeh.models import ColumnDataSource, HoverTool, LabelSet, Span

from tautochrone.replay.entry import OURS, PLANNED, Entry
from tautochrone.report.panel import (
    BLUE,
    GRAY,
    RED,
    Panel,
    label_bytes,
    of_bytes,
    plain_figure,
)

BAR_PIXELS = 34


def draw(entries: Sequence[Entry], peak_live_bytes: int) -> Panel:
    """Draw the heaps of `entries`, without those that failed."""
    done = [entry for entry in entries if entry.held and entry.footprint_bytes]
    done.sort(key=lambda entry: entry.footprint_bytes, reverse=True)
    failed = [entry.name for entry in entries if not entry.held]
    columns = {
        "system": [entry.name for entry in done],
        "footprint_bytes": [entry.footprint_bytes for entry in done],
        "footprint_over_peak_live": [
            round(entry.footprint_bytes / max(peak_live_bytes, 1), 5) for entry in done
        ],
    }
    data = {
        **columns,
        "color": [BLUE if entry.role in (OURS, PLANNED) else GRAY for entry in done],
        "text": [
            f"{of_bytes(size)}  ({ratio:.3f})"
            for size, ratio in zip(
                columns["footprint_bytes"], columns["footprint_over_peak_live"], strict=True
            )
        ],
    }
    source = ColumnDataSource(data)
    plot = plain_figure(
        y_range=columns["system"],
        height=90 + BAR_PIXELS * max(len(done), 1),
        x_axis_label="heap",
        tools="",
    )
    label_bytes(plot.xaxis[0])
    plot.x_range.start = 0
    plot.x_range.end = 1.3 * max(columns["footprint_bytes"], default=1)
    bars = plot.hbar("system", 0.62, right="footprint_bytes", source=source, color="color")
    plot.add_layout(
        LabelSet(
            x="footprint_bytes",
            y="system",
            text="text",
            source=source,
            x_offset=6,
            text_baseline="middle",
            text_font_size="12px",
        )
    )
    plot.add_layout(
        Span(location=peak_live_bytes, dimension="height", line_color=RED, line_dash="dashed")
    )
    plot.add_tools(HoverTool(renderers=[bars], tooltips=[("@system", "@footprint_bytes{0,0} B")]))
    caption = (
        "Smallest heap in which the whole recording completes, control structures included. In"
        " parentheses: its ratio to the peak of live bytes (dashed)."
    )
    host = [entry.name for entry in done if entry.in_process]
    if host:
        caption += (
            f" Run unmodified in a 64-bit process, whose growth is shown: {', '.join(host)}."
        )
    if failed:
        caption += f" Did not complete: {', '.join(failed)}."
    return Panel("footprints", "The heap each allocator needs", caption, plot, columns)

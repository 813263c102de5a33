"""Draws live bytes over time, with the peak marked."""

from __future__ import annotations

from bokeh.models import ColumnDataSource, HoverTool, Label, NumeralTickFormatter

from tautochrone.report.curves import Curves
from tautochrone.report.panel import BLUE, RED, Panel, label_bytes, of_bytes, plain_figure


def draw(curves: Curves) -> Panel:
    """Draw the band between the fewest and the most live bytes of each bin."""
    columns = {
        curves.x_label: curves.x.tolist(),
        "live_bytes_min": curves.live_bytes.low.tolist(),
        "live_bytes_max": curves.live_bytes.high.tolist(),
    }
    source = ColumnDataSource(
        {"x": curves.x, "low": curves.live_bytes.low, "high": curves.live_bytes.high}
    )
    plot = plain_figure(x_axis_label=curves.x_label, y_axis_label="live bytes")
    label_bytes(plot.yaxis[0])
    plot.xaxis[0].formatter = NumeralTickFormatter(format="0,0.[000]")  # events, or times
    plot.y_range.start = 0
    plot.varea(x="x", y1=0, y2="high", source=source, color=BLUE, alpha=0.18)
    plot.varea(x="x", y1="low", y2="high", source=source, color=BLUE, alpha=0.5)
    line = plot.step("x", "high", source=source, color=BLUE, line_width=1.5, mode="after")
    plot.scatter([curves.peak_x], [curves.peak_bytes], size=9, color=RED, marker="diamond")
    right = curves.peak_x > curves.x[-1] / 2
    plot.add_layout(
        Label(
            x=curves.peak_x,
            y=curves.peak_bytes,
            text=f"peak {of_bytes(curves.peak_bytes)}",
            text_color=RED,
            text_font_size="13px",
            text_align="right" if right else "left",
            x_offset=-10 if right else 10,
            y_offset=-16,
        )
    )
    tips = [(curves.x_label, "@x{0.000}"), ("maximum", "@high{0,0} B"), ("minimum", "@low{0,0} B")]
    plot.add_tools(HoverTool(renderers=[line], tooltips=tips, mode="vline"))
    caption = (
        f"Bytes of all live objects, as requested by the program. Each of the {len(curves.x)} bins"
        f" shows its smallest and its largest value, so no maximum is lost."
        f" {of_bytes(curves.end_bytes)} were still live at the end."
    )
    return Panel("live-bytes", "Live bytes over time", caption, plot, columns)

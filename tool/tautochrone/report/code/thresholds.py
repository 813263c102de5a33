"""Draws faults and system time by threshold, for each planner: Figs. 5 and 6 of the paper."""

from __future__ import annotations

from collections.abc import Sequence

from bokeh.models import ColumnDataSource, HoverTool, NumeralTickFormatter
from bokeh.plotting import figure

from tautochrone.plan.code.space import FRAMES_OF_POLICIES, Point, Space
from tautochrone.report.code.look import (
    COLORS,
    DASHES,
    NO_FAULT,
    drawn_faults,
    label_faults,
    name_of,
    place_legend,
    share,
)
from tautochrone.report.code.time import ESTIMATED, SECONDS, Clock
from tautochrone.report.panel import Panel, plain_figure

HEIGHT_PIXELS = 400


def draw(space: Space, clock: Clock) -> list[Panel]:
    """Draw both figures."""
    points = [one for one in space.points if one.frames in FRAMES_OF_POLICIES]
    policy = space.wanted.cache.policy
    columns = {
        "placement": [one.planner for one in points],
        "frames": [one.frames for one in points],
        "threshold": [one.threshold for one in points],
        "faults": [one.faults for one in points],
        "system_seconds": [clock.seconds(one.faults) for one in points],
    }
    plot = _lines(points, "faults", drawn_faults([one.faults for one in points]), is_log=True)
    label_faults(plot, columns["faults"])
    caption = f"Replayed with {policy} replacement. {NO_FAULT} Fig. 5 of the paper."
    faults = Panel("code-faults", "Faults by threshold", caption, plot, columns)
    plot = _lines(points, "system time (s)", columns["system_seconds"], is_log=False)
    plot.y_range.start = 0
    plot.yaxis[0].formatter = NumeralTickFormatter(format=SECONDS)
    caption = f"{clock.told()} {ESTIMATED} Fig. 6 of the paper."
    return [faults, Panel("code-time", "System time by threshold", caption, plot, columns)]


def _lines(points: Sequence[Point], label: str, values: Sequence[float], is_log: bool) -> figure:
    """A line for each planner and number of frames."""
    names = [share(part) for part in dict.fromkeys(one.threshold for one in points)]
    plot = plain_figure(
        height=HEIGHT_PIXELS,
        x_range=names,
        y_axis_type="log" if is_log else "linear",
        x_axis_label="threshold T",
        y_axis_label=label,
    )
    marks = []
    for planner, frames in dict.fromkeys((one.planner, one.frames) for one in points):
        rows = [
            (share(one.threshold), value, one.faults)
            for one, value in zip(points, values, strict=True)
            if (one.planner, one.frames) == (planner, frames)
        ]
        columns = map(list, zip(*rows, strict=True))
        data = dict(zip(("name", "value", "faults"), columns, strict=True))
        data["line"] = [f"{planner}, {frames} frames"] * len(rows)
        source = ColumnDataSource(data)
        look = {"color": COLORS[planner], "legend_label": f"{name_of(planner)}, {frames} frames"}
        plot.line("name", "value", source=source, line_dash=DASHES[frames], line_width=1.6, **look)
        marks.append(plot.scatter("name", "value", source=source, size=5, **look))
    tips = [("", "@line"), ("T", "@name"), (label, "@value{0,0.[000]}"), ("faults", "@faults{0,0}")]
    plot.add_tools(HoverTool(renderers=marks, tooltips=tips))
    place_legend(plot, len(FRAMES_OF_POLICIES))
    return plot

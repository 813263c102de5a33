"""Draws faults and system time by frames and policy: Figs. 7 and 8 of the paper."""

from __future__ import annotations

from collections.abc import Sequence

from bokeh.models import ColumnDataSource, FactorRange, HoverTool, NumeralTickFormatter
from bokeh.plotting import figure

from tautochrone.plan.code.space import Point
from tautochrone.report.code.look import POLICY_COLORS, share
from tautochrone.report.code.time import ESTIMATED, SECONDS, Clock
from tautochrone.report.panel import BLUE, Panel, plain_figure


def draw(points: Sequence[Point], clock: Clock) -> list[Panel]:
    """Draw both figures. All POINTS have the same threshold."""
    if not points:
        return []
    columns = {
        "placement": [one.planner for one in points],
        "frames": [one.frames for one in points],
        "policy": [one.policy for one in points],
        "faults": [one.faults for one in points],
        "system_seconds": [clock.seconds(one.faults) for one in points],
    }
    said = f"T = {share(points[0].threshold)}."
    plot = _bars(points, columns["faults"], "faults")
    caption = f"{said} The placement is the same for all policies of a group. Fig. 7 of the paper."
    faults = Panel("code-policies", "Faults by policy and frames", caption, plot, columns)
    plot = _bars(points, columns["system_seconds"], "system time (s)")
    plot.yaxis[0].formatter = NumeralTickFormatter(format=SECONDS)
    title = "System time by policy and frames"
    caption = f"{said} {clock.told()} {ESTIMATED} Fig. 8 of the paper."
    return [faults, Panel("code-policies-time", title, caption, plot, columns)]


def _bars(points: Sequence[Point], values: Sequence[float], label: str) -> figure:
    """A bar for each policy, in groups of a placement and a number of frames."""
    factors = [(f"{one.planner}, {one.frames} frames", one.policy) for one in points]
    source = ColumnDataSource(
        {
            "factor": factors,
            "value": list(values),
            "faults": [one.faults for one in points],
            "color": [POLICY_COLORS.get(one.policy, BLUE) for one in points],
        }
    )
    plot = plain_figure(x_range=FactorRange(*factors), y_axis_label=label, tools="")
    plot.y_range.start = 0
    plot.xaxis.major_label_orientation = 1.1
    plot.xaxis.group_text_font_size = "11px"
    bars = plot.vbar("factor", 0.85, "value", source=source, color="color", alpha=0.8)
    tips = [("", "@factor"), (label, "@value{0,0.[000]}"), ("faults", "@faults{0,0}")]
    plot.add_tools(HoverTool(renderers=[bars], tooltips=tips))
    return plot

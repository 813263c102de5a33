"""Draws RAM against faults: every placement on one axis, with the plan and the lower bound."""

from __future__ import annotations

from collections.abc import Sequence

from bokeh.models import ColumnDataSource, GlyphRenderer, HoverTool
from bokeh.plotting import figure

from tautochrone.plan.code.space import Point, Space
from tautochrone.report.code.look import (
    COLORS,
    NO_FAULT,
    drawn_faults,
    label_faults,
    name_of,
    place_legend,
    share,
)
from tautochrone.report.panel import BLUE, RED, Panel, label_bytes, plain_figure

HEIGHT_PIXELS = 420
COLUMNS = ("placement", "threshold", "frames", "policy", "ram_bytes", "faults")
BOUND = "lower bound"


def draw(space: Space, plan: Point | None) -> Panel:
    """Draw all points, the lower bound, and the plan's point, if any."""
    plot = plain_figure(
        height=HEIGHT_PIXELS,
        y_axis_type="log",
        x_axis_label="code and frames in RAM",
        y_axis_label="faults",
    )
    label_bytes(plot.xaxis[0])
    label_faults(plot, [point.faults for point in space.points])
    marks = [
        _draw_planner(plot, [point for point in space.points if point.planner == planner])
        for planner in dict.fromkeys(point.planner for point in space.points)
    ]
    plot.step(
        [ram_bytes for ram_bytes, _ in space.floor],
        drawn_faults([faults for _, faults in space.floor]),
        mode="after",
        color=RED,
        line_dash="dashed",
        legend_label=BOUND,
    )
    if plan is not None:
        marks.append(
            plot.scatter(
                "ram_bytes",
                "drawn",
                source=_source([plan]),
                marker="star",
                size=20,
                color=BLUE,
                line_color=RED,
                legend_label="the plan",
            )
        )
    tips = [
        ("", "@placement, T = @share, @frames frames, @policy"),
        ("RAM", "@ram_bytes{0,0} B"),
        ("faults", "@faults{0,0}"),
    ]
    plot.add_tools(HoverTool(renderers=marks, tooltips=tips))
    place_legend(plot, 6)
    columns = _columns([*space.points, *([] if plan is None else [plan])])
    if plan is not None:
        columns["placement"][-1] = f"plan: {plan.planner}"
    for name, values in zip(COLUMNS, _floor_columns(space), strict=True):
        columns[name] += values
    caption = (
        "Each point is a placement for one threshold T and one number of frames, replayed on the"
        " recording. A line connects the best ones of a planner. No placement with any threshold,"
        f" number of frames and policy is below the {BOUND}. {NO_FAULT}"
    )
    return Panel("code-ram", "RAM against faults", caption, plot, columns)


def _draw_planner(plot: figure, points: Sequence[Point]) -> GlyphRenderer:
    """Draw the points of one planner, and a line through the best ones."""
    best = _best(points)
    look = {"color": COLORS[points[0].planner], "legend_label": name_of(points[0].planner)}
    drawn = drawn_faults([point.faults for point in best])
    plot.step([point.ram_bytes for point in best], drawn, mode="after", line_width=1.5, **look)
    return plot.scatter("ram_bytes", "drawn", source=_source(points), alpha=0.6, size=6, **look)


def _best(points: Sequence[Point]) -> list[Point]:
    """The points that no other one beats in both RAM and faults, by RAM."""
    best: list[Point] = []
    for point in sorted(points, key=lambda one: (one.ram_bytes, one.faults)):
        if not best or point.faults < best[-1].faults:
            best.append(point)
    return best


def _columns(points: Sequence[Point]) -> dict[str, list[object]]:
    rows = [
        (one.planner, one.threshold, one.frames, one.policy, one.ram_bytes, one.faults)
        for one in points
    ]
    return {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}


def _floor_columns(space: Space) -> list[list[object]]:
    count = len(space.floor)
    ram, faults = [row[0] for row in space.floor], [row[1] for row in space.floor]
    return [[BOUND] * count, [None] * count, [None] * count, [None] * count, [*ram], [*faults]]


def _source(points: Sequence[Point]) -> ColumnDataSource:
    data = _columns(points)
    data["drawn"] = [*drawn_faults([point.faults for point in points])]
    data["share"] = [share(point.threshold) for point in points]
    return ColumnDataSource(data)

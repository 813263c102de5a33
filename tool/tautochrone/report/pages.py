"""Draws heaps on pages: mapped pages over time, and the cost of calls by object size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool, Label, LogTicker, NumeralTickFormatter, Span

from tautochrone.replay.entry import (
    CYCLES,
    INSTRUCTIONS,
    Entry,
    Operation,
    Scatter,
    thinned,
)
from tautochrone.report.instructions import draw_cycles
from tautochrone.report.panel import (
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    RED,
    Panel,
    label_bytes,
    plain_figure,
)

# A system's place in its figure selects its color and marker.
COLORS = (BLUE, ORANGE, GREEN, RED, GRAY)
MARKERS = ("circle", "x", "triangle", "square", "diamond")
OPERATIONS = ("malloc", "free")
LOG_ABOVE_RATIO = 40
DRAWN_POINTS_MAX = 20_000  # per operation and system; more are thinned out
MEASURED = {
    INSTRUCTIONS: "on RV32IMC",
    CYCLES: "in cycles on the simulated tile, an Ibex core with each memory management unit",
}


def draw(entries: Sequence[Entry], recording: str = "") -> list[Panel]:
    """Draw the mapped pages and costs of `entries`, all of systems that map pages.

    `recording` names the report's trace. The captions name other traces.
    """
    if not entries:
        return []
    costs = [
        _by_size([entry for entry in entries if entry.unit == unit], operation, unit)
        for unit in (INSTRUCTIONS, CYCLES)
        for operation in OPERATIONS
    ]
    on_tile = [entry for entry in entries if entry.unit == CYCLES]
    cycles = [draw_table(entries), draw_cycles(on_tile)] if on_tile else []
    panels = [_mapped(entries), *(panel for panel in [*cycles, *costs] if panel is not None)]
    others = {entry.recording for entry in entries if entry.recording} - {recording}
    if others:
        said = f" Replays of another recording: {', '.join(sorted(others))}."
        panels = [replace(panel, caption=panel.caption + said) for panel in panels]
    return panels


def draw_table(entries: Sequence[Entry]) -> Panel:
    """Return a table of all costs by operation, so that systems can be compared."""
    numbers = ("count", "mean", "99.9th percentile", "maximum", "bound")
    head = ("operation", "system", *numbers, "unit")
    rows: list[tuple[Any, ...]] = []
    for entry in entries:
        assert entry.pages is not None
        mean, most = round(entry.pages.mean, 1), entry.pages.peak
        rows.append(("pages mapped", entry.name, None, mean, None, most, None, "pages"))
    for name in dict.fromkeys(name for entry in entries for name in entry.operations):
        for entry in entries:
            operation, unit = entry.operations.get(name), entry.unit
            counted = operation and unit and operation.measure(unit)
            if not operation or not counted or not operation.count:
                continue
            bound = operation.grows if counted.bound is None else counted.bound
            costs = (operation.count, counted.mean, counted.p999, counted.max, bound)
            rows.append((name, entry.name, *costs, unit))
    caption = (
        "The same heaps as software, in instructions, and on the tile with a memory management"
        " unit, in cycles. On the tile, real faults map pages. Load and store are single accesses,"
        " including those of the heaps."
    )
    columns = dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))
    return Panel("tile", "The tile beside the software model", caption, None, columns)


def _mapped(entries: Sequence[Entry]) -> Panel:
    """Draw mapped pages over the recording's events, one band per system."""
    plot = plain_figure(x_axis_label="event of the recording", y_axis_label="mapped pages")
    plot.y_range.start = 0
    plot.xaxis[0].formatter = NumeralTickFormatter(format="0,0")
    columns: dict[str, list[Any]] = {"system": [], "event": [], "min": [], "max": []}
    lines = []
    for place, entry in enumerate(entries):
        assert entry.pages is not None
        curve, name = entry.pages.curve, entry.name
        columns["system"] += [name] * len(curve["event"])
        for key in ("event", "min", "max"):
            columns[key] += curve[key]
        data = {key: list(curve[key]) for key in ("event", "min", "max")}
        source = ColumnDataSource({**data, "system": [name] * len(data["event"])})
        color = COLORS[place % len(COLORS)]
        plot.varea(x="event", y1="min", y2="max", source=source, color=color, alpha=0.3)
        lines.append(
            plot.step(
                *("event", "max"),
                source=source,
                color=color,
                line_width=1.6,
                line_dash="dashed" if entry.unit == CYCLES else "solid",
                mode="after",
                legend_label=name,
            )
        )
    tips = [("", "@system"), ("event", "@event{0,0}"), ("maximum", "@max{0,0} pages")]
    plot.add_tools(HoverTool(renderers=lines, tooltips=tips))
    plot.legend.background_fill_alpha = 0
    plot.legend.border_line_color = None
    plot.add_layout(plot.legend[0], "above")
    plot.legend.orientation = "horizontal"
    told = "; ".join(
        f"{entry.name}: at most {entry.pages.peak:,} pages, on average"
        f" {entry.pages.mean:,.1f}, {entry.pages.faults:,} faults"
        + ("" if entry.held else f", {entry.cause}")
        for entry in entries
        if entry.pages is not None
    )
    caption = (
        f"Pages of 4 KiB that hold a frame. rtvm returns each page as soon as it is free;"
        f" conventional only where its end shrinks. {told}. No maximum is thinned out."
    )
    if any(entry.pages is not None and entry.pages.is_blind for entry in entries):
        caption += (
            " The recording holds no accesses, so only headers and cleared objects are mapped here;"
            " record with --accesses to include what the program touches."
        )
    return Panel("mapped-pages", "Pages mapped over time", caption, plot, columns)


def _by_size(entries: Sequence[Entry], operation: str, unit: str) -> Panel | None:
    """Draw the cost of an operation's calls over the object's size; None without calls."""
    drawn = [
        (place, entry.name, calls, calls.by_size)
        for place, entry in enumerate(entries)
        if (calls := entry.operations.get(operation))
        and calls.by_size is not None
        and calls.by_size.size_bytes
    ]
    if not drawn:
        return None
    points_of = {name: _points(scatter, unit) for _, name, _, scatter in drawn}
    costs = [cost for points in points_of.values() for cost in points[unit]]
    is_log = max(costs) > LOG_ABOVE_RATIO * max(min(costs), 1)
    plot = plain_figure(
        x_axis_type="log",
        y_axis_type="log" if is_log else "linear",
        x_axis_label="object size",
        y_axis_label=f"{unit} of {operation}",
    )
    label_bytes(plot.xaxis[0])
    plot.xaxis[0].ticker = LogTicker(base=4)
    bounds = [_bound(calls, unit) for _, _, calls, _ in drawn]
    plot.y_range.start = 0.8 * max(min(costs), 1) if is_log else 0
    plot.y_range.end = 1.1 * max(costs + bounds)
    columns: dict[str, list[Any]] = {"system": [], "size_bytes": [], unit: []}
    marks = []
    for place, name, calls, _ in drawn:
        points, color = points_of[name], COLORS[place % len(COLORS)]
        data = {**points, "system": [name] * len(points["size_bytes"])}
        for key in columns:
            columns[key] += data[key]
        marks.append(
            plot.scatter(
                *("size_bytes", unit),
                source=ColumnDataSource(data),
                marker=MARKERS[place % len(MARKERS)],
                color=color,
                size=5,
                alpha=0.7,
                legend_label=name,
            )
        )
        if _bound(calls, unit):
            _bound_line(plot, name, _bound(calls, unit), color)
    tips = [("", "@system"), ("size", "@size_bytes{0,0} B"), ("cost", f"@{unit}{{0,0}}")]
    plot.add_tools(HoverTool(renderers=marks, tooltips=tips))
    plot.add_layout(plot.legend[0], "above")
    plot.legend.orientation = "horizontal"
    plot.legend.background_fill_alpha = 0
    plot.legend.border_line_color = None
    linear = [name for _, name, calls, _ in drawn if calls.grows]
    is_whole = all(
        len(points_of[name]["size_bytes"]) == len(scatter.size_bytes)
        for _, name, _, scatter in drawn
    )
    caption = f"Every distinct cost of a call of {operation} {MEASURED[unit]}, by size"
    caption += "." if unit == CYCLES and is_whole else "; the maximum of each size is always shown."
    if any(bounds):
        caption += " Dashed: the bound, which holds for any sequence of calls."
    if linear:
        caption += f" {', '.join(linear)}: no bound, as the cost grows with the pages returned."
    title, key = f"Cost of {operation}, by size", f"{operation}-by-size"
    if unit == CYCLES:
        title, key = f"Cost of {operation} on the tile, by size", f"{operation}-cycles-by-size"
    return Panel(key, title, caption, plot, columns)


def _bound(calls: Operation, unit: str) -> int:
    """Return the bound of an operation; 0 if it has none."""
    counted = calls.measure(unit)
    return counted.bound or 0 if counted is not None else 0


def _points(scatter: Scatter, unit: str) -> dict[str, list[int]]:
    """Return the points to draw: all, unless there are too many for a page."""
    sizes, costs = (np.array(part, np.int64) for part in (scatter.size_bytes, scatter.costs))
    if len(sizes) > DRAWN_POINTS_MAX:
        sizes, costs = thinned(sizes, costs, DRAWN_POINTS_MAX)
    return {"size_bytes": np.maximum(sizes, 1).tolist(), unit: costs.tolist()}


def _bound_line(plot: Any, name: str, bound: int, color: str) -> None:
    plot.add_layout(
        Span(location=bound, dimension="width", line_color=color, line_dash="dashed", line_width=1)
    )
    plot.add_layout(
        Label(
            x=6,
            y=bound,
            x_units="screen",
            text=f"bound of {name}: {bound:,}",
            text_color=color,
            text_font_size="11px",
        )
    )

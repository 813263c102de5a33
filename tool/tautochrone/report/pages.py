"""Heaps over pages: pages mapped over time, and what each call takes by the object's size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool, Label, LogTicker, NumeralTickFormatter, Span

from tautochrone.replay.paging_entries import is_blind, thinned
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

COLORS = {
    **{"rtvm": BLUE, "conventional": ORANGE, "conventional-mapped": GREEN},
    **{"tile:rtmmu": RED, "tile:pagetable": GRAY},
}
MARKERS = {
    **{"rtvm": "circle", "conventional": "x", "conventional-mapped": "triangle"},
    **{"tile:rtmmu": "circle", "tile:pagetable": "x"},
}
OPERATIONS = ("malloc", "free")
LOG_ABOVE_RATIO = 40
DRAWN_POINTS_MAX = 20_000  # of an operation on a system; more are thinned out
INSTRUCTIONS, CYCLES = "instructions", "cycles"
MEASURED = {
    INSTRUCTIONS: "on RV32IMC",
    CYCLES: "in cycles on the simulated tile, an Ibex core with each memory management unit",
}


def on_pages(systems: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of `systems` (as `tau replay --json` lists them) that map pages."""
    return [system for system in systems if "peak_mapped_pages" in system]


def unit_of(system: Mapping[str, Any]) -> str:
    """What its calls are counted in: the tile knows cycles."""
    return CYCLES if CYCLES in system else INSTRUCTIONS


def draw(systems: Sequence[Mapping[str, Any]], recording: str = "") -> list[Panel]:
    """Draw what `systems` on pages mapped and took; nothing if there is none.

    `recording` names the report's trace: replays of another one are said to be so.
    """
    if not systems:
        return []
    costs = [
        _by_size([system for system in systems if unit_of(system) == unit], operation, unit)
        for unit in (INSTRUCTIONS, CYCLES)
        for operation in OPERATIONS
    ]
    on_tile = [system for system in systems if unit_of(system) == CYCLES]
    cycles = [draw_table(systems), draw_cycles(on_tile)] if on_tile else []
    panels = [_mapped(systems), *(panel for panel in [*cycles, *costs] if panel is not None)]
    others = {str(system["recording"]) for system in systems if system.get("recording")}
    others -= {recording}
    if others:
        said = f" Of another recording: {', '.join(sorted(others))}."
        panels = [replace(panel, caption=panel.caption + said) for panel in panels]
    return panels


def draw_table(systems: Sequence[Mapping[str, Any]]) -> Panel:
    """Everything counted, operation by operation, so that systems stand beside each other."""
    head = ("operation", "on", "count", "99.9 %", "at most", "bound", "in")
    rows: list[tuple[Any, ...]] = []
    for system in systems:
        mean, most = system["mean_mapped_pages"], system["peak_mapped_pages"]
        rows.append(("pages mapped", system["name"], None, None, most, None, f"mean {mean:,.1f}"))
    for operation in dict.fromkeys(name for system in systems for name in system["operations"]):
        for system in systems:
            calls, unit = system["operations"].get(operation), unit_of(system)
            if calls is None or not calls["count"]:
                continue
            bound = calls.get(f"bound_{unit}")
            bound = calls.get("grows") if bound is None else bound
            numbers = (calls["count"], calls[f"p999_{unit}"], calls[f"max_{unit}"], bound)
            rows.append((operation, system["name"], *numbers, unit))
    caption = (
        "The same heaps twice: rtvm and conventional as software, counted in instructions; on the"
        " tile with a memory management unit, counted in cycles, where pages are mapped by real"
        " faults. load and store are single accesses, the heaps' own among them."
    )
    columns = dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))
    return Panel("tile", "The tile beside the software model", caption, None, columns)


def _mapped(systems: Sequence[Mapping[str, Any]]) -> Panel:
    """Pages mapped over the recording's events, one band a system."""
    plot = plain_figure(x_axis_label="event of the recording", y_axis_label="mapped pages")
    plot.y_range.start = 0
    plot.xaxis[0].formatter = NumeralTickFormatter(format="0,0")
    columns: dict[str, list[Any]] = {"system": [], "event": [], "min": [], "max": []}
    lines = []
    for system in systems:
        curve, name = system["mapped_pages"], system["name"]
        columns["system"] += [name] * len(curve["event"])
        for key in ("event", "min", "max"):
            columns[key] += curve[key]
        data = {key: list(curve[key]) for key in ("event", "min", "max")}
        source = ColumnDataSource({**data, "system": [name] * len(data["event"])})
        color = COLORS.get(name, GRAY)
        plot.varea(x="event", y1="min", y2="max", source=source, color=color, alpha=0.3)
        lines.append(
            plot.step(
                *("event", "max"),
                source=source,
                color=color,
                line_width=1.6,
                line_dash="dashed" if unit_of(system) == CYCLES else "solid",
                mode="after",
                legend_label=name,
            )
        )
    tips = [("", "@system"), ("event", "@event{0,0}"), ("at most", "@max{0,0} pages")]
    plot.add_tools(HoverTool(renderers=lines, tooltips=tips))
    plot.legend.background_fill_alpha = 0
    plot.legend.border_line_color = None
    plot.add_layout(plot.legend[0], "above")
    plot.legend.orientation = "horizontal"
    told = "; ".join(
        f"{system['name']}: at most {system['peak_mapped_pages']:,} pages, on average"
        f" {system['mean_mapped_pages']:,.1f}, {system['faults']:,} faults"
        + ("" if system["completed"] else f", {system['cause']}")
        for system in systems
    )
    caption = (
        f"Pages of 4 KiB that hold a frame. rtvm gives back what becomes free at once and anywhere;"
        f" the conventional heap only where its end shrinks. {told}. No maximum is thinned out."
    )
    if any(is_blind(system) for system in systems):
        caption += (
            " The recording holds no accesses, so only headers and cleared objects are mapped here:"
            " record with --accesses to learn what the program touches."
        )
    return Panel("mapped-pages", "Pages mapped over time", caption, plot, columns)


def _by_size(systems: Sequence[Mapping[str, Any]], operation: str, unit: str) -> Panel | None:
    """What the calls of an operation took over the object's size; None without any."""
    drawn = [
        (system["name"], system["operations"][operation])
        for system in systems
        if system["operations"].get(operation, {}).get("by_size", {}).get("size_bytes")
    ]
    if not drawn:
        return None
    points_of = {name: _points(calls["by_size"], unit) for name, calls in drawn}
    costs = [cost for points in points_of.values() for cost in points[unit]]
    is_log = max(costs) > LOG_ABOVE_RATIO * max(min(costs), 1)
    plot = plain_figure(
        x_axis_type="log",
        y_axis_type="log" if is_log else "linear",
        x_axis_label="size of the object",
        y_axis_label=f"{unit} of {operation}",
    )
    label_bytes(plot.xaxis[0])
    plot.xaxis[0].ticker = LogTicker(base=4)
    bounds = [calls.get(f"bound_{unit}") or 0 for _, calls in drawn]
    plot.y_range.start = 0.8 * max(min(costs), 1) if is_log else 0
    plot.y_range.end = 1.1 * max(costs + bounds)
    columns: dict[str, list[Any]] = {"system": [], "size_bytes": [], unit: []}
    marks = []
    for name, calls in drawn:
        points = points_of[name]
        data = {**points, "system": [name] * len(points["size_bytes"])}
        for key in columns:
            columns[key] += data[key]
        marks.append(
            plot.scatter(
                *("size_bytes", unit),
                source=ColumnDataSource(data),
                marker=MARKERS.get(name, "square"),
                color=COLORS.get(name, GRAY),
                size=5,
                alpha=0.7,
                legend_label=name,
            )
        )
        if calls.get(f"bound_{unit}"):
            _bound_line(plot, name, calls[f"bound_{unit}"])
    tips = [("", "@system"), ("size", "@size_bytes{0,0} B"), ("took", f"@{unit}{{0,0}}")]
    plot.add_tools(HoverTool(renderers=marks, tooltips=tips))
    plot.add_layout(plot.legend[0], "above")
    plot.legend.orientation = "horizontal"
    plot.legend.background_fill_alpha = 0
    plot.legend.border_line_color = None
    linear = [name for name, calls in drawn if calls.get("grows")]
    is_whole = all(
        len(points["size_bytes"]) == len(calls["by_size"]["size_bytes"])
        for (_, calls), points in zip(drawn, points_of.values(), strict=True)
    )
    caption = f"Every distinct cost of a call of {operation} {MEASURED[unit]}, by size"
    caption += "." if unit == CYCLES and is_whole else "; the largest of each size is always there."
    if any(bounds):
        caption += " Dashed: the bound, which holds whatever the sequence of calls."
    if linear:
        caption += f" {', '.join(linear)}: no bound, the cost grows with the pages given back."
    title, key = f"What {operation} takes, by size", f"{operation}-by-size"
    if unit == CYCLES:
        title, key = f"What {operation} takes on the tile, by size", f"{operation}-cycles-by-size"
    return Panel(key, title, caption, plot, columns)


def _points(by_size: Mapping[str, Any], unit: str) -> dict[str, list[int]]:
    """The points that are drawn: all, unless they are more than a page should hold."""
    sizes, costs = np.array(by_size["size_bytes"], np.int64), np.array(by_size[unit], np.int64)
    if len(sizes) > DRAWN_POINTS_MAX:
        sizes, costs = thinned(sizes, costs, DRAWN_POINTS_MAX)
    return {"size_bytes": np.maximum(sizes, 1).tolist(), unit: costs.tolist()}


def _bound_line(plot: Any, name: str, bound: int) -> None:
    color = COLORS.get(name, RED)
    plot.add_layout(
        Span(location=bound, dimension="width", line_color=color, line_dash="dashed", line_width=1)
    )
    plot.add_layout(
        Label(
            x=6,
            y=bound,
            x_units="screen",
            text=f"bound of {name}: {bound}",
            text_color=color,
            text_font_size="11px",
        )
    )

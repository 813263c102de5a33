"""Draws instructions or cycles of each operation: 99.9th percentile, maximum and bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bokeh.models import ColumnDataSource, HoverTool

from tautochrone.replay.entry import CYCLES, INSTRUCTIONS, PART_COUNTS, Entry
from tautochrone.report.panel import BLUE, GRAY, GREEN, ORANGE, RED, Panel, plain_figure

ROW_PIXELS = 30
LOG_ABOVE_RATIO = 40
HIT = next(iter(PART_COUNTS))


def draw(entries: Sequence[Entry], isa: str) -> Panel | None:
    """Draw the instructions of the operations of `entries`; None if not counted."""
    caption = (
        f"Every call of this recording was emulated on {isa}. Instructions that move and clear"
        " payload are not counted. The bound holds for any sequence of calls."
    )
    return _drawn(_rows(entries, INSTRUCTIONS), INSTRUCTIONS, "Instructions per call", caption)


def draw_cycles(entries: Sequence[Entry]) -> Panel | None:
    """Draw the cycles of the operations of `entries`; None if there are none."""
    caption = (
        "Exact cycles of the simulated processor, equal in every run. A fault lasts from the"
        " access to its repetition, including trap and handler. Load and store are accesses that"
        " hit, from request to answer. A bound holds for any sequence of calls."
    )
    rows = _rows(entries, CYCLES)
    return _drawn(rows, CYCLES, "Cycles per operation on the tile", caption)


def _drawn(rows: list[dict[str, Any]], unit: str, title: str, caption: str) -> Panel | None:
    if not rows:
        return None
    rows.reverse()  # Bokeh lists factors from the bottom
    names = ("row", "calls", "p999", "max", "hit", "bound")
    columns = {name: [row[name] for row in rows] for name in names}
    values = [value for name in names[2:] for value in columns[name] if value]
    if not values:
        return None  # every cost is 0
    least, most = min(values), max(values)
    is_log = most > LOG_ABOVE_RATIO * least
    plot = plain_figure(
        y_range=columns["row"],
        height=110 + ROW_PIXELS * len(rows),
        x_axis_type="log" if is_log else "linear",
        x_axis_label=unit,
        tools="",
    )
    start = least * 0.8 if is_log else 0
    plot.x_range.start, plot.x_range.end = start, most * 1.06
    # Missing numbers are NaN, because Bokeh draws None at 0.
    drawn = {name: [_or_nan(value) for value in values] for name, values in columns.items()}
    source = ColumnDataSource({**drawn, "start": [start] * len(rows)})
    plot.segment("start", "row", "max", "row", source=source, color=GRAY, line_width=7, alpha=0.35)
    marks = []
    for name, marker, color, size, label in (
        ("p999", "circle", BLUE, 9, "99.9th percentile"),
        ("hit", "triangle", ORANGE, 9, "maximum of pool hits"),
        ("max", "diamond", GREEN, 13, "maximum"),
        ("bound", "dash", RED, 18, "bound"),
    ):
        if not any(columns[name]):
            continue
        marks.append(
            plot.scatter(
                name,
                "row",
                source=source,
                marker=marker,
                color=color,
                size=size,
                line_width=3,
                angle=1.5708 if name == "bound" else 0,
                legend_label=label,
            )
        )
    tips = [
        ("", "@row, @calls{0,0} calls"),
        ("99.9th percentile", "@p999{0,0}"),
        ("maximum", "@max{0,0}"),
        ("maximum of pool hits", "@hit{0,0}"),
        ("bound", "@bound{0,0}"),
    ]
    plot.add_tools(HoverTool(renderers=marks, tooltips=tips))
    plot.add_layout(plot.legend[0], "above")
    plot.legend.orientation = "horizontal"
    plot.legend.background_fill_alpha = 0
    plot.legend.border_line_color = None
    return Panel(unit, title, caption, plot, columns)


def _or_nan(value: Any) -> Any:
    """Return `value`, or NaN if it is missing."""
    return float("nan") if value is None else value


def _rows(entries: Sequence[Entry], unit: str) -> list[dict[str, Any]]:
    """Return one row for each system and operation that was counted in this unit."""
    rows = []
    for entry in entries:
        for name, operation in entry.operations.items():
            counted = operation.measure(unit)
            if counted is None or not operation.count:
                continue
            hit = operation.measure(unit, HIT)
            rows.append(
                {
                    "row": f"{entry.name} {name}",
                    "calls": operation.count,
                    "p999": counted.p999,
                    "max": counted.max,
                    "hit": hit and hit.max,
                    "bound": counted.bound,
                }
            )
    return rows

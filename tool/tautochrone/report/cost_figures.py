"""Figures of costs: calls in instructions or cycles, mapped pages, and cost by object size."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tautochrone.replay.entry import (
    CYCLES,
    INSTRUCTIONS,
    PART_COUNTS,
    Entry,
    Operation,
    Scatter,
    thinned,
)
from tautochrone.report.figure import (
    BLUE,
    GRAY,
    GREEN,
    LOG_ABOVE_RATIO,
    ORANGE,
    RED,
    ROW_PIXELS,
    Axis,
    Figure,
    Limit,
    Panel,
    mark,
)

# A system's place in its figure selects its color and marker.
COLORS = (BLUE, ORANGE, GREEN, RED, GRAY)
MARKERS = ("circle", "square", "dash", "bar", "triangle")
OPERATIONS = ("malloc", "free")
DRAWN_POINTS_MAX = 20_000  # Per operation and system; more are thinned out.
HIT = next(iter(PART_COUNTS))
STATISTICS = (  # Column, marker, color, name.
    ("p999", "circle", BLUE, "99.9th percentile"),
    ("hit", "triangle", ORANGE, "maximum of pool hits"),
    ("max", "diamond", GREEN, "maximum"),
    ("bound", "bar", RED, "bound"),
)
MEASURED = {
    INSTRUCTIONS: "on RV32IMC",
    CYCLES: "in cycles on the simulated tile, an Ibex core with each memory management unit",
}


# ---- The costs of all operations


def instructions(entries: Sequence[Entry], isa: str) -> Panel | None:
    """The instructions of the operations of `entries`; None if not counted."""
    caption = (
        f"Every call of this recording was emulated on {isa}. Instructions that move and clear"
        f" payload are not counted. {_bound_holds(entries)}"
    )
    return _costs(entries, INSTRUCTIONS, "Instructions per call", caption)


def _bound_holds(entries: Sequence[Entry]) -> str:
    """For which calls the bounds of these entries hold."""
    holds = "The bound holds for any sequence of calls"
    if any(entry.name == "pools" for entry in entries):
        holds += "; the pools' bound holds within the plan's limits, beyond which calls cost more"
    return f"{holds}."


def cycles(entries: Sequence[Entry]) -> Panel | None:
    """The cycles of the operations of `entries`; None if there are none."""
    caption = (
        "Exact cycles of the simulated processor, equal in every run. A fault lasts from the"
        " access to its repetition, including trap and handler. Load and store are accesses that"
        " hit, from request to answer. A bound holds for any sequence of calls."
    )
    return _costs(entries, CYCLES, "Cycles per operation on the tile", caption)


def _costs(entries: Sequence[Entry], unit: str, title: str, caption: str) -> Panel | None:
    rows = _rows(entries, unit)
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    values = [value for name, *_ in STATISTICS for value in columns.get(name, ()) if value]
    if not values:
        return None  # Nothing was counted, or every cost is 0.
    least, most = min(values), max(values)
    is_log = most > LOG_ABOVE_RATIO * least
    start = least * 0.8 if is_log else 0
    bars = {"y": "row", "left": start, "right": "max", "width": 0.3}
    marks = [mark("bars", columns, color=GRAY, shade=0.35, **bars)]
    for name, marker, color, label in STATISTICS:
        if any(columns[name]):
            tips = [
                f"{row['row']}, {row['calls']:,} calls: {label} {row[name] or 0:,}" for row in rows
            ]
            look = {"marker": marker, "color": color, "label": label}
            marks.append(mark("scatter", {**columns, "tip": tips}, x=name, y="row", **look))
    figure = Figure(
        Axis(unit, is_log=is_log, start=start, end=most * 1.06),
        Axis(names=columns["row"]),
        marks,
        height=ROW_PIXELS * len(rows),
    )
    return Panel(unit, title, caption, figure, columns)


def _rows(entries: Sequence[Entry], unit: str) -> list[dict[str, Any]]:
    """One row for each system and operation that was counted in this unit."""
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


# ---- Heaps on pages


def pages(entries: Sequence[Entry], recording: str = "") -> list[Panel]:
    """The mapped pages and costs of `entries`, all of systems that map pages.

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
    found = [_mapped(entries), *([table(entries), cycles(on_tile)] if on_tile else []), *costs]
    panels = [panel for panel in found if panel is not None]
    others = {entry.recording for entry in entries if entry.recording} - {recording}
    if others:
        said = f" Replays of another recording: {', '.join(sorted(others))}."
        panels = [replace(panel, caption=panel.caption + said) for panel in panels]
    return panels


def table(entries: Sequence[Entry]) -> Panel:
    """A table of all costs by operation, so that systems can be compared."""
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
        " the heaps' own ones included."
    )
    columns = dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))
    return Panel("tile", "The tile next to the software model", caption, None, columns)


def _mapped(entries: Sequence[Entry]) -> Panel:
    """Mapped pages over the recording's events, one band per system."""
    columns: dict[str, list[Any]] = {"system": [], "event": [], "min": [], "max": []}
    marks, told = [], []
    for place, entry in enumerate(entries):
        assert entry.pages is not None
        curve, name, found = entry.pages.curve, entry.name, entry.pages
        band = {"system": [name] * len(curve["event"])}
        band |= {key: list(curve[key]) for key in ("event", "min", "max")}
        for key, values in band.items():
            columns[key] += values
        look = {"x": "event", "color": COLORS[place % len(COLORS)], "label": name}
        dash = "dashed" if entry.unit == CYCLES else "solid"
        marks.append(mark("steps", band, y="max", low="min", shade=0.3, dash=dash, **look))
        told.append(
            f"{name}: at most {found.peak:,} pages, on average {found.mean:,.1f},"
            f" {found.faults:,} faults" + ("" if entry.held else f", {entry.cause}")
        )
    figure = Figure(
        Axis("event of the recording"), Axis("mapped pages", start=0), marks
    )
    caption = (
        "Pages of 4 KiB that hold a frame. rtvm returns each page as soon as it is free;"
        f" conventional only where its end shrinks. {'; '.join(told)}. No maximum is thinned out."
    )
    if any(entry.pages is not None and entry.pages.is_blind for entry in entries):
        caption += (
            " The recording holds no accesses, so only headers and cleared objects are mapped here;"
            " record with --accesses to include what the program touches."
        )
    return Panel("mapped-pages", "Pages mapped over time", caption, figure, columns)


def _by_size(entries: Sequence[Entry], operation: str, unit: str) -> Panel | None:
    """The cost of an operation's calls over the object's size; None without calls."""
    columns: dict[str, list[Any]] = {"system": [], "size_bytes": [], unit: []}
    marks, limits, linear = [], [], []
    is_whole = True
    for place, entry in enumerate(entries):
        calls = entry.operations.get(operation)
        if calls is None or calls.by_size is None or not calls.by_size.size_bytes:
            continue
        points, color = _points(calls.by_size, unit), COLORS[place % len(COLORS)]
        drawn = {"system": [entry.name] * len(points["size_bytes"]), **points}
        for key, values in drawn.items():
            columns[key] += values
        look = {"marker": MARKERS[place % len(MARKERS)], "color": color, "shade": 0.7}
        at = {"x": "size_bytes", "y": unit, "label": entry.name}
        marks.append(mark("scatter", drawn, **at, **look))
        if bound := _bound(calls, unit):
            limits.append(Limit(bound, color, text=f"bound of {entry.name}: {bound:,}"))
        linear += [entry.name] if calls.grows else []
        is_whole &= len(points["size_bytes"]) == len(calls.by_size.size_bytes)
    if not marks:
        return None
    costs = columns[unit]
    least, most = max(min(costs), 1), max(costs + [int(limit.at) for limit in limits])
    is_log = max(costs) > LOG_ABOVE_RATIO * least
    figure = Figure(
        Axis("object size", is_log=True, is_bytes=True),
        Axis(
            f"{unit} of {operation}",
            is_log=is_log,
            start=0.8 * least if is_log else 0,
            end=1.1 * most,
        ),
        marks,
        limits=limits,
    )
    caption = f"Every distinct cost of a call of {operation} {MEASURED[unit]}, by size"
    caption += "." if unit == CYCLES and is_whole else "; the maximum of each size is always shown."
    if limits:
        caption += f" Dashed: the bound. {_bound_holds(entries)}"
    if linear:
        caption += f" {', '.join(linear)}: no bound, as the cost grows with the pages returned."
    title, key = f"Cost of {operation}, by size", f"{operation}-by-size"
    if unit == CYCLES:
        title, key = f"Cost of {operation} on the tile, by size", f"{operation}-cycles-by-size"
    return Panel(key, title, caption, figure, columns)


def _bound(calls: Operation, unit: str) -> int:
    """The bound of an operation; 0 if it has none."""
    counted = calls.measure(unit)
    return counted.bound or 0 if counted is not None else 0


def _points(scatter: Scatter, unit: str) -> dict[str, list[int]]:
    """The points to draw: all, unless there are too many for a page."""
    sizes, costs = (np.array(part, np.int64) for part in (scatter.size_bytes, scatter.costs))
    if len(sizes) > DRAWN_POINTS_MAX:
        sizes, costs = thinned(sizes, costs, DRAWN_POINTS_MAX)
    return {"size_bytes": np.maximum(sizes, 1).tolist(), unit: costs.tolist()}

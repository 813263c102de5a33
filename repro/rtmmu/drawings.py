"""Figs. 5, 6 and 7 in the paper's arrangement: a is ours, b the conventional system, on the same
axes. A panel has `series`, the path of its points, and `call` or nothing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from repro.engine.figures import Columns, series_of
from repro.rtmmu.figures import FREE_KINDS, MALLOC_KINDS
from repro.rtmmu.page_costs import CONVENTIONAL, OURS
from tautochrone.report.figure import BLUE, GREEN, ORANGE, Axis, Figure, mark

TITLES = {OURS: "a: ours", CONVENTIONAL: "b: conventional"}
COLORS = (BLUE, ORANGE, GREEN)
KINDS: dict[str, Sequence[str]] = {"malloc": MALLOC_KINDS, "free": FREE_KINDS}


def scattered(panel: dict[str, Any], results: dict[str, Any]) -> tuple[Figure, Columns]:
    """Cost against size. What a call had to do is its color."""
    call, measure, scale = panel["call"], panel["y"], panel.get("scale", "linear")
    points = {system: series_of(panel, results)[system][call] for system in TITLES}
    columns: Columns = {name: [] for name in ("system", "size_bytes", measure, "kind")}
    every = [cost for system in TITLES for _, cost, _ in points[system]]
    low, high = (min(every) * 0.9, max(every) * 2) if scale == "log" else (0, max(every) * 1.05)
    figures = []
    for system, title in TITLES.items():
        marks = []
        for number, (kind, color) in enumerate(zip(KINDS[call], COLORS, strict=True)):
            chosen = [(size, cost) for size, cost, which in points[system] if which == number]
            sizes, costs = [size for size, _ in chosen], [cost for _, cost in chosen]
            drawn = {"size": sizes, "cost": costs}
            marks.append(mark("scatter", drawn, x="size", y="cost", color=color, label=kind))
            columns["system"] += [system] * len(chosen)
            columns["size_bytes"] += sizes
            columns[measure] += costs
            columns["kind"] += [kind] * len(chosen)
        y = Axis(measure, is_log=scale == "log", start=low, end=high)
        figures.append(Figure(Axis("size", is_log=True, is_bytes=True), y, marks, title=title))
    return replace(figures[0], also=figures[1:]), columns


def curves(panel: dict[str, Any], results: dict[str, Any]) -> tuple[Figure, Columns]:
    """Mapped pages over time."""
    points = {system: series_of(panel, results)[system]["pages"] for system in TITLES}
    columns: Columns = {name: [] for name in ("system", "event", "low", "high")}
    most = max(high for rows in points.values() for _, _, high in rows)
    figures = []
    for system, title in TITLES.items():
        events, low, high = (list(part) for part in zip(*points[system], strict=True))
        drawn = {"event": events, "low": low, "high": high}
        marks = [mark("steps", drawn, x="event", y="high", color=BLUE, shade=0.4)]
        y = Axis(panel["y"], start=0, end=most * 1.05)
        figures.append(Figure(Axis(panel["x"]), y, marks, title=title))
        for name, values in zip(columns, ([system] * len(events), events, low, high), strict=True):
            columns[name] += values
    return replace(figures[0], also=figures[1:]), columns

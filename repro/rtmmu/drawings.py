"""Figs. 5, 6 and 7 in the paper's arrangement: a is ours, b the conventional system, on the same
axes. A panel has `series`, the path of its points, and `call` or nothing."""

from collections.abc import Sequence
from typing import Any

from bokeh.layouts import column
from bokeh.models import NumeralTickFormatter, UIElement

from repro.engine.figures import Columns, series_of
from repro.rtmmu.figures import FREE_KINDS, MALLOC_KINDS
from repro.rtmmu.page_costs import CONVENTIONAL, OURS
from tautochrone.report.figure import BLUE, GREEN, ORANGE, label_bytes, plain_figure

TITLES = {OURS: "a: ours", CONVENTIONAL: "b: conventional"}
COLORS = (BLUE, ORANGE, GREEN)
KINDS: dict[str, Sequence[str]] = {"malloc": MALLOC_KINDS, "free": FREE_KINDS}


def scattered(panel: dict[str, Any], results: dict[str, Any]) -> tuple[UIElement, Columns]:
    """Cost against size. What a call had to do is its color."""
    call, measure, scale = panel["call"], panel["y"], panel.get("scale", "linear")
    points = {system: series_of(panel, results)[system][call] for system in TITLES}
    columns: Columns = {name: [] for name in ("system", "size_bytes", measure, "kind")}
    every = [cost for system in TITLES for _, cost, _ in points[system]]
    limits = (min(every) * 0.9, max(every) * 2) if scale == "log" else (0, max(every) * 1.05)
    plots = []
    for system, title in TITLES.items():
        plot = plain_figure(
            title=title,
            y_range=limits,
            y_axis_type=scale,
            x_axis_label="size",
            y_axis_label=measure,
        )
        for number, (kind, color) in enumerate(zip(KINDS[call], COLORS, strict=True)):
            chosen = [(size, cost) for size, cost, which in points[system] if which == number]
            sizes, costs = [size for size, _ in chosen], [cost for _, cost in chosen]
            plot.scatter(sizes, costs, size=2, color=color, legend_label=kind)
            columns["system"] += [system] * len(chosen)
            columns["size_bytes"] += sizes
            columns[measure] += costs
            columns["kind"] += [kind] * len(chosen)
        label_bytes(plot.xaxis[0])
        plot.yaxis.formatter = NumeralTickFormatter(format="0,0")
        plot.add_layout(plot.legend[0], "right")
        plots.append(plot)
    return column(*plots, sizing_mode="stretch_width"), columns


def curves(panel: dict[str, Any], results: dict[str, Any]) -> tuple[UIElement, Columns]:
    """Mapped pages over time."""
    points = {system: series_of(panel, results)[system]["pages"] for system in TITLES}
    columns: Columns = {name: [] for name in ("system", "event", "low", "high")}
    most = max(high for rows in points.values() for _, _, high in rows)
    plots = []
    for system, title in TITLES.items():
        events, low, high = (list(part) for part in zip(*points[system], strict=True))
        plot = plain_figure(
            title=title, y_range=(0, most * 1.05), x_axis_label=panel["x"], y_axis_label=panel["y"]
        )
        plot.axis.formatter = NumeralTickFormatter(format="0,0")
        plot.varea(x=events, y1=low, y2=high, color=BLUE)
        plot.line(events, high, color=BLUE)
        for name, values in zip(columns, ([system] * len(events), events, low, high), strict=True):
            columns[name] += values
        plots.append(plot)
    return column(*plots, sizing_mode="stretch_width"), columns

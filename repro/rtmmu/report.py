"""Draws the reproduction: out/repro/rtmmu/report.html in the look of `tau report`, with Fig. 5, 6
and 7 in the paper's arrangement (a: ours, b: the conventional system, the same axes), in cycles of
the simulated tile and in instructions, and a picture of it where there is a browser."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bokeh.layouts import column
from bokeh.models import FactorRange, NumeralTickFormatter, Span
from bokeh.plotting import figure

from repro.rtmmu.figures import FREE_KINDS, MALLOC_KINDS
from repro.rtmmu.measure import CONVENTIONAL, OURS, OUT, stored
from tautochrone.console.output import note
from tautochrone.errors import TauError
from tautochrone.report import picture
from tautochrone.report.page import page
from tautochrone.report.panel import (
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    Panel,
    label_bytes,
    plain_figure,
)

PAGE = OUT / "report.html"
PICTURE = OUT / "report.png"
PICTURE_PIXELS = (1100, 5250)
TITLES = {OURS: "a: ours", CONVENTIONAL: "b: conventional"}
COLORS = (BLUE, ORANGE, GREEN)


@dataclass(frozen=True)
class View:
    """The figures in one measure: the stage, its points under out/, and what panels are called."""

    figures: str
    points: str
    measure: str
    suffix: str
    where: str


VIEWS = (
    View("tile_figures", "tile_points", "cycles", "_cycles", ", on the tile"),
    View("figures", "points", "instructions", "", ""),
)


def scattered(
    points: dict[str, Any], call: str, kinds: Sequence[str], scale: str, measure: str
) -> tuple[figure, dict[str, list[Any]]]:
    """Cost against size, ours above the conventional system's, on the same axes."""
    columns: dict[str, list[Any]] = {name: [] for name in ("system", "size_bytes", measure, "kind")}
    every = [cost for system in TITLES for _, cost, _ in points[system][call]]
    limits = (min(every) * 0.9, max(every) * (2 if scale == "log" else 1.05))
    plots = []
    for system, title in TITLES.items():
        plot = plain_figure(
            title=title,
            y_range=limits if scale == "log" else (0, limits[1]),
            y_axis_type=scale,
            x_axis_label="size",
            y_axis_label=measure,
        )
        for number, (kind, color) in enumerate(zip(kinds, COLORS, strict=True)):
            chosen = [(size, cost) for size, cost, which in points[system][call] if which == number]
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


def curves(points: dict[str, Any]) -> tuple[figure, dict[str, list[Any]]]:
    """Mapped pages over time, ours above the conventional system's, on the same axes."""
    columns: dict[str, list[Any]] = {name: [] for name in ("system", "event", "low", "high")}
    most = max(high for system in TITLES for _, _, high in points[system]["pages"])
    plots = []
    for system, title in TITLES.items():
        events, low, high = (list(part) for part in zip(*points[system]["pages"], strict=True))
        plot = plain_figure(
            title=title,
            y_range=(0, most * 1.05),
            x_axis_label="event",
            y_axis_label="mapped pages",
        )
        plot.axis.formatter = NumeralTickFormatter(format="0,0")
        plot.varea(x=events, y1=low, y2=high, color=BLUE)
        plot.line(events, high, color=BLUE)
        columns["system"] += [system] * len(events)
        columns["event"] += events
        columns["low"] += low
        columns["high"] += high
        plots.append(plot)
    return column(*plots, sizing_mode="stretch_width"), columns


def bars(series: dict[str, dict[str, float | None]]) -> tuple[figure, dict[str, list[Any]]]:
    """Table I's two gains: of each series a number for each trace."""
    traces = list(next(iter(series.values())))
    plot = plain_figure(
        x_range=FactorRange(*traces),
        y_axis_type="log",
        y_range=(0.5, 20_000),
        y_axis_label="times",
        tools="",
    )
    columns: dict[str, list[Any]] = {"trace": [], "series": [], "times": []}
    for color, shift, (name, times) in zip(
        (BLUE, ORANGE), (-0.2, 0.2), series.items(), strict=True
    ):
        values = list(times.values())
        places = [(trace, shift) for trace in traces]
        plot.vbar(places, 0.35, top=values, bottom=0.5, color=color, legend_label=name)
        columns["trace"] += traces
        columns["series"] += [name] * len(values)
        columns["times"] += values
    plot.add_layout(plot.legend[0], "above")
    plot.add_layout(Span(location=1, dimension="width", line_dash="dashed", line_color=GRAY))
    return plot, columns


def figure_panels(view: View) -> list[Panel]:
    """Fig. 5, 6 and 7 from a stage's results and points, if they are there."""
    path, measure = OUT / f"{view.points}.json", view.measure
    points: Mapping[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    found = stored(view.figures)
    if not points or not found:
        return []
    told, free, peaks = 100 * found["figure5"][OURS]["apart"], found["figure6"], found["figure7"]
    extreme = free["extreme"]
    return [
        Panel(
            f"figure5{view.suffix}",
            f"Fig. 5: {measure} of malloc{view.where}",
            f"Colors are what a call had to do, by the rule. Ours: {told:.2f} % of the calls"
            " can be told by their cost alone.",
            *scattered(points, "malloc", MALLOC_KINDS, "linear", measure),
        ),
        Panel(
            f"figure6{view.suffix}",
            f"Fig. 6: {measure} of free{view.where} (logarithmic)",
            f"The largest conventional free, {extreme[measure]:,} {measure} for"
            f" {extreme['size_bytes']:,} bytes, gives {extreme['returned_pages']:,} pages back;"
            f" ours takes at most {free[OURS]['max']}.",
            *scattered(points, "free", FREE_KINDS, "log", measure),
        ),
        Panel(
            f"figure7{view.suffix}",
            f"Fig. 7: mapped pages over time{view.where}",
            f"Peaks: ours {peaks[OURS]['peak_pages']:,}, conventional"
            f" {peaks[CONVENTIONAL]['peak_pages']:,} pages of 4 KiB.",
            *curves(points),
        ),
    ]


def table_panels() -> list[Panel]:
    """Table I's gains, in cycles and in instructions."""
    cycles, counted = (stored(stage).get("rows", {}) for stage in ("tile_table1", "table1"))
    views = (
        ("_cycles", ", on the tile", "free_gain", {t: row["ratios"] for t, row in cycles.items()}),
        ("", "", "free_gain_instructions", {t: r["rv32"]["ratios"] for t, r in counted.items()}),
    )
    return [
        Panel(
            f"table1{suffix}",
            f"Table I: what is gained{where}",
            "1 is the least there is for the footprint. Numbers: repro/rtmmu/claims.md.",
            *bars(
                {
                    "largest free, conventional ÷ ours": {t: row[free] for t, row in rows.items()},
                    "footprint, conventional ÷ ours": {
                        t: row["footprint"] for t, row in rows.items()
                    },
                }
            ),
        )
        for suffix, where, free, rows in views
        if rows
    ]


def panels() -> list[Panel]:
    """Every figure whose results are stored."""
    return [panel for view in VIEWS for panel in figure_panels(view)] + table_panels()


def verdict() -> str:
    """One sentence with the main result."""
    tile, counted = stored("tile_table1"), stored("table1")
    if tile:
        found, where = tile["extremes"], "In cycles of the tile, the"
        free, malloc = found["free_gain"], found["malloc_penalty"]
    elif counted:
        found, where = counted["extremes"]["rv32"], "In instructions, the"
        free, malloc = found["free_gain_instructions"], found["malloc_penalty_instructions"]
    else:
        return "Nothing was measured yet."
    return (
        f"{where} largest free is up to {free['max']:,.0f} times cheaper than the conventional"
        f" system's ({free['max_program']}), the largest malloc at most {malloc['max']:.2f} times"
        f" dearer, the footprint {found['footprint']['min']:.1f} to"
        f" {found['footprint']['max']:,.0f} times smaller."
    )


def write() -> None:
    """Write the report from what is stored, and its picture if a browser is there."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    html = page(
        "Real-time virtual memory, tried again",
        verdict(),
        {
            "paper": "M. Böhnert and C. Scholl, A Dynamic Virtual Memory Management under"
            " Real-Time Constraints"
        },
        panels(),
        None,
        stored("meta").get("conditions", {}),
    )
    PAGE.write_text(html, encoding="utf-8")
    try:
        picture.take(PAGE, PICTURE, *PICTURE_PIXELS)
    except TauError as error:
        note(f"no picture: {error.message}")

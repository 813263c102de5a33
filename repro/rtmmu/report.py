"""Draws the reproduction: out/repro/rtmmu/report.html in the look of `tau report`, with Fig. 5, 6
and 7 in the paper's arrangement (a: ours, b: the conventional system, the same axes), and a picture
of it where there is a browser."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bokeh.layouts import column
from bokeh.models import FactorRange, NumeralTickFormatter, Span
from bokeh.plotting import figure

from tautochrone.errors import TauError
from tautochrone.output import note
from tautochrone.reporters import picture
from tautochrone.reporters.page import page
from tautochrone.reporters.panel import (
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    Panel,
    label_bytes,
    plain_figure,
)

from repro.rtmmu.figures import FREE_KINDS, MALLOC_KINDS
from repro.rtmmu.measure import CONVENTIONAL, OURS, OUT, stored

PAGE = OUT / "report.html"
PICTURE = OUT / "report.png"
PICTURE_PIXELS = (1100, 2750)
TITLES = {OURS: "a: ours", CONVENTIONAL: "b: conventional"}
COLORS = (BLUE, ORANGE, GREEN)


def scattered(
    points: dict[str, Any], call: str, kinds: Sequence[str], scale: str
) -> tuple[figure, dict[str, list[Any]]]:
    """Cost against size, ours above the conventional system's, on the same axes."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("system", "size_bytes", "instructions", "kind")
    }
    every = [cost for system in TITLES for _, cost, _ in points[system][call]]
    limits = (min(every) * 0.9, max(every) * (2 if scale == "log" else 1.05))
    plots = []
    for system, title in TITLES.items():
        plot = plain_figure(
            title=title,
            y_range=limits if scale == "log" else (0, limits[1]),
            y_axis_type=scale,
            x_axis_label="size",
            y_axis_label="instructions",
        )
        for number, (kind, color) in enumerate(zip(kinds, COLORS, strict=True)):
            chosen = [(size, cost) for size, cost, which in points[system][call] if which == number]
            sizes, costs = [size for size, _ in chosen], [cost for _, cost in chosen]
            plot.scatter(sizes, costs, size=2, color=color, legend_label=kind)
            columns["system"] += [system] * len(chosen)
            columns["size_bytes"] += sizes
            columns["instructions"] += costs
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


def bars(table1: dict[str, Any]) -> tuple[figure, dict[str, list[Any]]]:
    """Table I's two gains for each trace."""
    rows = table1["rows"]
    series = {
        "largest free, conventional ÷ ours": "free_gain_instructions",
        "footprint, conventional ÷ ours": "footprint",
    }
    plot = plain_figure(
        x_range=FactorRange(*rows),
        y_axis_type="log",
        y_range=(0.5, 20_000),
        y_axis_label="times",
        tools="",
    )
    columns: dict[str, list[Any]] = {"trace": [], "series": [], "times": []}
    for color, shift, (name, key) in zip((BLUE, ORANGE), (-0.2, 0.2), series.items(), strict=True):
        values = [rows[trace]["rv32"]["ratios"][key] for trace in rows]
        places = [(trace, shift) for trace in rows]
        plot.vbar(places, 0.35, top=values, bottom=0.5, color=color, legend_label=name)
        columns["trace"] += list(rows)
        columns["series"] += [name] * len(values)
        columns["times"] += values
    plot.add_layout(plot.legend[0], "above")
    plot.add_layout(Span(location=1, dimension="width", line_dash="dashed", line_color=GRAY))
    return plot, columns


def panels() -> list[Panel]:
    """Every figure whose results are stored."""
    drawn = []
    path = OUT / "points.json"
    points: Mapping[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    if points:
        bands, summary = stored("figures")["figure5"], stored("figures")["figure6"]
        told = 100 * bands[OURS]["apart"]
        drawn.append(
            Panel(
                "figure5",
                "Fig. 5: instructions of malloc",
                f"Colors are what a call had to do, by the rule. Ours: {told:.2f} % of the calls"
                " can be told by their cost alone.",
                *scattered(points, "malloc", MALLOC_KINDS, "linear"),
            )
        )
        extreme = summary["extreme"]
        drawn.append(
            Panel(
                "figure6",
                "Fig. 6: instructions of free (logarithmic)",
                f"The largest conventional free, {extreme['instructions']:,} instructions for"
                f" {extreme['size_bytes']:,} bytes, gives {extreme['returned_pages']:,} pages back;"
                f" ours takes at most {summary[OURS]['max']}.",
                *scattered(points, "free", FREE_KINDS, "log"),
            )
        )
        peaks = stored("figures")["figure7"]
        drawn.append(
            Panel(
                "figure7",
                "Fig. 7: mapped pages over time",
                f"Peaks: ours {peaks[OURS]['peak_pages']:,}, conventional"
                f" {peaks[CONVENTIONAL]['peak_pages']:,} pages of 4 KiB.",
                *curves(points),
            )
        )
    if stored("table1"):
        drawn.append(
            Panel(
                "table1",
                "Table I: what is gained",
                "1 is the least there is for the footprint. Numbers: repro/rtmmu/claims.md.",
                *bars(stored("table1")),
            )
        )
    return drawn


def verdict() -> str:
    """One sentence with the main result."""
    table1 = stored("table1")
    if not table1:
        return "Nothing was measured yet."
    found = table1["extremes"]["rv32"]
    return (
        f"The largest free is up to {found['free_gain_instructions']['max']:,.0f} times cheaper"
        f" than the conventional system's ({found['free_gain_instructions']['max_program']}), the"
        f" largest malloc at most {found['malloc_penalty_instructions']['max']:.2f} times dearer,"
        f" the footprint {found['footprint']['min']:.1f} to {found['footprint']['max']:,.0f} times"
        " smaller."
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

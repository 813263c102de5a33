"""Draws Figs. 4 to 8: out/repro/coldcode/report.html in the look of `tau report`."""

from __future__ import annotations

from typing import Any

from bokeh.models import FactorRange
from bokeh.plotting import figure

from repro.coldcode import claims
from repro.coldcode.measure import OUT, stored
from tautochrone.report.page import page
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

PAGE = OUT / "report.html"
COLORS = (BLUE, ORANGE, GREEN, RED, GRAY)
DASHES = {16: "solid", 32: "dashed", 64: "dotted"}
NAMES = {"replayed": "ours", "profile-based": "profile-based", "entry-points": "entry points"}
Drawn = tuple[figure, dict[str, list[Any]]]
Series = dict[str, list[tuple[float, float]]]


def lines(series: Series, y_label: str, dashes: dict[str, str] | None = None) -> Drawn:
    """A line for each series over T."""
    parts = sorted({x for points in series.values() for x, _ in points}, reverse=True)
    plot = plain_figure(
        x_range=FactorRange(*map(percent, parts)), x_axis_label="T", y_axis_label=y_label
    )
    columns: dict[str, list[Any]] = {"series": [], "T": [], y_label: []}
    for place, (name, points) in enumerate(series.items()):
        x, y = [percent(part) for part, _ in points], [value for _, value in points]
        dash = (dashes or {}).get(name, "solid")
        color = COLORS[(place // len(DASHES) if dashes else place) % len(COLORS)]
        plot.line(x, y, color=color, line_dash=dash, line_width=2, legend_label=name)
        plot.scatter(x, y, color=color, size=5)
        columns["series"] += [name] * len(x)
        columns["T"] += x
        columns[y_label] += y
    plot.add_layout(plot.legend[0], "right")
    return plot, columns


def bars(rows: dict[tuple[str, str], float], y_label: str) -> Drawn:
    """A bar for each policy, in groups."""
    plot = plain_figure(x_range=FactorRange(*rows), y_axis_label=y_label, tools="")
    plot.vbar(list(rows), 0.8, top=list(rows.values()), color=BLUE, line_color=GRAY)
    plot.xaxis.major_label_orientation = 1
    names = {"group": [key[0] for key in rows], "policy": [key[1] for key in rows]}
    return plot, names | {y_label: list(rows.values())}


def percent(part: float) -> str:
    """T as text."""
    return f"{100 * part:g} %"


def by_threshold(value: str) -> tuple[Series, dict[str, str]]:
    """A line for each placement and number of frames: loads, or seconds of the kernel."""
    series: Series = {}
    dashes = {}
    for one in claims.sweep_rows():
        name = f"{NAMES[one['planner']]}, {one['frames']}"
        series.setdefault(name, []).append((one["part"], one[value]))
        dashes[name] = DASHES[one["frames"]]
    return dict(sorted(series.items())), dashes


def design(value: str) -> dict[tuple[str, str], float]:
    """A bar for each placement, number of frames and policy."""
    return {
        (f"{NAMES[one['planner']]}, {one['frames']}", one["policy"]): one[value]
        for one in claims.design_rows()
    }


def panels() -> list[Panel]:
    """Every figure whose results are stored."""
    found = []
    if stored("sweep"):
        drawn = lines(claims.footprints(), "bytes")
        label_bytes(drawn[0].yaxis[0])
        found += [
            Panel(
                "figure4",
                "Fig. 4: static footprint by T, code and data",
                "Data is what it was. From T = 98 % on little more leaves RAM.",
                *drawn,
            ),
            Panel(
                "figure5",
                "Fig. 5: loads by T, placement and frames; NRU",
                "Ours keeps apart what is never executed, and searches by replay.",
                *lines(by_threshold("loads_shown")[0], "loads", by_threshold("loads_shown")[1]),
            ),
            Panel(
                "figure6",
                "Fig. 6: seconds of the kernel by T, placement and frames; NRU, 442 µs a load",
                "Instructions of the recorded run at 8 ns, and the loads of its replay.",
                *lines(by_threshold("seconds_shown")[0], "seconds", by_threshold("loads_shown")[1]),
            ),
        ]
    if stored("design_space"):
        found += [
            Panel(
                "figure7",
                "Fig. 7: loads by frames and policy, T = 99.9 %",
                "Placements differ by more than policies.",
                *bars(design("loads"), "loads"),
            ),
            Panel(
                "figure8",
                "Fig. 8: seconds of the kernel by frames and policy, T = 99.9 %",
                "As Fig. 6.",
                *bars(design("seconds"), "seconds"),
            ),
        ]
    return found


def write() -> None:
    """Write the report from what is stored."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    html = page(
        "Cold code of Linux, tried again",
        claims.verdict(),
        {"paper": "D. Chanet et al., Linux Kernel Compaction through Cold Code Swapping"},
        panels(),
        None,
        stored("meta").get("conditions", {}),
    )
    PAGE.write_text(html, encoding="utf-8")

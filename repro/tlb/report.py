"""Draws Figs. 6, 7, 9 and 11, 14 to 20, and the same tasks in other places:
out/repro/tlb/report.html in the look of `tau report`."""

from __future__ import annotations

from typing import Any

from bokeh.models import FactorRange
from bokeh.plotting import figure

from repro.tlb import claims, layouts
from repro.tlb.measure import OUT, stored
from tautochrone.report.page import page
from tautochrone.report.panel import BLUE, GRAY, GREEN, ORANGE, RED, Panel, plain_figure

PAGE = OUT / "report.html"
Drawn = tuple[figure, dict[str, list[Any]]]


def lines(series: dict[str, list[float]], x_label: str, y_label: str) -> Drawn:
    """A line for each of a few series."""
    plot = plain_figure(x_axis_label=x_label, y_axis_label=y_label)
    columns: dict[str, list[Any]] = {"series": [], "x": [], "y": []}
    for (name, values), color in zip(series.items(), (BLUE, ORANGE, GREEN, GRAY), strict=False):
        numbers = list(range(len(values)))
        plot.line(numbers, values, color=color, line_width=2, legend_label=name)
        plot.scatter(numbers, values, color=color, size=5)
        columns["series"] += [name] * len(values)
        columns["x"] += numbers
        columns["y"] += values
    plot.add_layout(plot.legend[0], "above")
    return plot, columns


def bars(rows: dict[str, float], y_label: str) -> Drawn:
    """A bar for each task."""
    plot = plain_figure(x_range=FactorRange(*rows), y_axis_label=y_label, tools="")
    plot.vbar(list(rows), 0.8, top=list(rows.values()), color=BLUE, line_color=GRAY)
    plot.xaxis.major_label_orientation = 1
    return plot, {"task": list(rows), "misses": list(rows.values())}


def bars_beside(series: dict[str, dict[str, float]], y_label: str) -> Drawn:
    """For each task set the bars of all series, beside each other."""
    names = list(next(iter(series.values())))
    plot = plain_figure(x_range=FactorRange(*names), y_axis_label=y_label, tools="")
    width = 0.8 / len(series)
    columns: dict[str, list[Any]] = {"task set": names}
    for place, (name, row) in enumerate(series.items()):
        columns[name] = [row[each] for each in names]
        middles = [(each, (place + 0.5) * width - 0.4) for each in names]
        color = (BLUE, ORANGE, GREEN, RED, GRAY)[place]
        plot.vbar(
            middles, width, top=columns[name], color=color, line_color=GRAY, legend_label=name
        )
    plot.add_layout(plot.legend[0], "above")
    plot.legend.orientation = "horizontal"
    return plot, columns


def medians() -> dict[str, float]:
    """Misses of a job with one heap, by task."""
    sets = {**stored("table1").get("sets", {})}
    tasks = sorted(stored("figure19").get("tasks", {}).items(), key=claims.by_number)
    sets |= {f"{name} tasks": rows for name, rows in tasks}
    return {
        f"{name}: T{number} {row['program']}": row["malloc"]["median"]
        for name, rows in sets.items()
        for number, row in enumerate(rows, start=1)
    }


def layouts_panel(sets: dict[str, Any]) -> Panel:
    """The same tasks in other places."""
    series = {
        layout: {name: sets[name][layout]["median"] for name in layouts.SETS}
        for layout in (*layouts.RUNS, "colored")
    }
    return Panel(
        "layouts",
        "The same tasks in other places: misses of all jobs, median of the seeds",
        "Adjacent pages do not miss while all fit the TLB together. Colored ones never do.",
        *bars_beside(series, "misses"),
    )


def panels() -> list[Panel]:
    """Every figure whose results are stored."""
    found = []
    if pages := stored("figure6"):
        series = {f"malloc, {size} bytes": row["max"] for size, row in pages["malloc"].items()}
        series = dict(list(series.items())[:3]) | {"colors": pages["colors"]["max"]}
        found.append(
            Panel(
                "figure6",
                "Fig. 6: pages of two tasks in each set, most of some runs",
                "Colors put four into each set, whatever the size.",
                *lines(series, "set", "pages"),
            )
        )
    if synthetic := stored("synthetic"):
        same, other = (synthetic["figure7"]["2"][name]["misses"][0] for name in ("same", "other"))
        found.append(
            Panel(
                "figure7",
                "Fig. 7: misses of T1's jobs, two hyperperiods",
                "In one set with T2, and in a set of its own.",
                *lines({"same set": same, "other set": other}, "job", "misses"),
            )
        )
        rows = synthetic["figure9"]
        series = {
            f"T{number}, {name}": row[name]["by_job"]
            for number, row in enumerate(rows, start=1)
            for name in ("malloc", "colored")
        }
        found.append(
            Panel(
                "figure9",
                "Figs. 9 to 12: misses by job, 14 random pages of 32, mean of the seeds",
                "Colored nobody misses, with any seed.",
                *lines(series, "job", "misses"),
            )
        )
    if rows := medians():
        found.append(
            Panel(
                "figure14",
                "Figs. 14 to 20: misses of a job with one heap, median of the seeds",
                "Colored they are all 0.",
                *bars(rows, "misses"),
            )
        )
    if sets := stored("layouts").get("sets"):
        found.append(layouts_panel(sets))
    if drawn := stored("bounds").get("random"):
        series = {name: drawn[name]["percentiles"] for name in ("colored", "uncolored")}
        found.append(
            Panel(
                "bounds",
                "Bound ÷ longest response of tasks, random task sets released at 0",
                f"Least {drawn['all']['least']:.3f}, median {drawn['all']['median']:.3f}.",
                *lines(series, "percentile, less one", "bound ÷ response"),
            )
        )
    return found


def write() -> None:
    """Write the report from what is stored."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    html = page(
        "TLB coloring, tried again",
        claims.verdict(),
        {"paper": "S. A. Panchamukhi and F. Mueller, Providing Task Isolation via TLB Coloring"},
        panels(),
        None,
        stored("meta").get("conditions", {}),
    )
    PAGE.write_text(html, encoding="utf-8")

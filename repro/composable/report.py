"""Draws Fig. 9 (three lines) and Fig. 10 (bars): out/repro/composable/report.html in the look of
`tau report`."""

from __future__ import annotations

from typing import Any

from bokeh.models import FactorRange
from bokeh.plotting import figure

from repro.composable import claims
from repro.composable.measure import OUT, stored
from tautochrone.report.page import page
from tautochrone.report.panel import BLUE, GRAY, GREEN, ORANGE, Panel, plain_figure

PAGE = OUT / "report.html"
LINES = {
    "synthetic": ("beside the synthetic application", BLUE),
    "neighbors": ("beside random neighbors", GREEN),
    "one_table": ("beside random neighbors, one page table for all", ORANGE),
}


def differences(found: dict[str, Any]) -> tuple[figure, dict[str, list[Any]]]:
    """How much later each vld iteration starts than alone."""
    plot = plain_figure(x_axis_label="vld iteration", y_axis_label="cycles later than alone")
    columns: dict[str, list[Any]] = {"run": [], "iteration": [], "cycles": []}
    for name, (label, color) in LINES.items():
        cycles = found[name]["tasks"]["vld"]["start_difference_cycles"]
        iterations = list(range(len(cycles)))
        plot.line(iterations, cycles, color=color, line_width=2, legend_label=label)
        columns["run"] += [name] * len(cycles)
        columns["iteration"] += iterations
        columns["cycles"] += cycles
    plot.add_layout(plot.legend[0], "above")
    return plot, columns


def overheads(found: dict[str, Any]) -> tuple[figure, dict[str, list[Any]]]:
    """Percent more cycles than in untranslated banks, by image, page size and entries."""
    columns: dict[str, list[Any]] = {"image": [], "page_bytes": [], "entries": [], "percent": []}
    bars: dict[tuple[str, str], float] = {}
    for image, row in found["images"].items():
        for size, pages in row["pages"].items():
            for entries, run in pages["by_entries"].items():
                percent = 100 * (run["over"] - 1)
                bars[f"{image}, {int(size) // 1024} KiB", entries] = percent
                for name, value in zip(columns, (image, size, entries, percent), strict=True):
                    columns[name].append(value)
    plot = plain_figure(x_range=FactorRange(*bars), y_axis_label="percent more cycles", tools="")
    plot.vbar(list(bars), 0.8, top=list(bars.values()), color=BLUE, line_color=GRAY)
    return plot, columns


def panels() -> list[Panel]:
    """Every figure whose results are stored."""
    found = []
    if lines := stored("figure9"):
        share = lines["one_table_percent"]
        found.append(
            Panel(
                "figure9",
                "Fig. 9: start of each vld iteration, beside others less alone",
                "With a table for each application 0, always."
                f" With one table {share:.0f} % differ.",
                *differences(lines),
            )
        )
    if bars := stored("figure10"):
        found.append(
            Panel(
                "figure10",
                f"Fig. 10: what virtual memory costs {bars['iterations']} iterations",
                "By image, largest page, and entries of each TLB. The paper: 39 %.",
                *overheads(bars),
            )
        )
    return found


def write() -> None:
    """Write the report from what is stored."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    html = page(
        "Composable virtual memory, tried again",
        claims.verdict(),
        {"paper": "C. Meenderinck, A. Molnos and K. Goossens, Composable Virtual Memory"},
        panels(),
        None,
        stored("meta").get("conditions", {}),
    )
    PAGE.write_text(html, encoding="utf-8")

"""Draws the reproduction: out/repro/budget/report.html, one file, in the look of `tau report`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bokeh.models import ColumnDataSource, FactorRange, HoverTool, Span
from bokeh.plotting import figure

from repro.budget.measure import OUT, stored
from tautochrone.report.page import page
from tautochrone.report.panel import BLUE, GRAY, GREEN, ORANGE, RED, Panel, plain_figure

COLORS = (BLUE, "#7fb8e6", "#b9d9f2", ORANGE, GREEN, RED)
# One color a system in both tables of Fig. 5, in the order in which they are drawn: ours in blue.
SYSTEMS = {
    "budget (replayed)": BLUE,
    "budget (greedy)": "#7fb8e6",
    "budget (seed 0's plan)": "#b9d9f2",
    "tlsf": "#2f5f8f",
    "static": GRAY,
    "lea, same arena": GREEN,
    "lea of newlib, 4 KiB steps": "#7fcdb9",
    "lea, 64 KiB steps": "#0d5c4d",
    "kingsley": ORANGE,
    "glibc": "#c9a227",
    "mimalloc": RED,
    "jemalloc": "#f0a07a",
}


def grouped_bars(
    groups: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    label: str,
    colors: Sequence[str] = COLORS,
    **options: Any,
) -> tuple[figure, dict[str, list[Any]]]:
    """Bars of SERIES side by side for each of GROUPS; also the numbers as columns.

    None is left out.
    """
    columns: dict[str, list[Any]] = {"group": [], "series": [], "value": []}
    plot = plain_figure(
        x_range=FactorRange(*[(group, name) for group in groups for name in series]),
        y_axis_label=label,
        height=380,
        tools="",
        **options,
    )
    low = options.get("y_range", (0,))[0]
    for color, (name, values) in zip(colors, series.items(), strict=False):
        rows = [
            (group, value) for group, value in zip(groups, values, strict=True) if value is not None
        ]
        source = ColumnDataSource(
            {"x": [(group, name) for group, _ in rows], "value": [value for _, value in rows]}
        )
        bars = plot.vbar(
            "x", 0.85, top="value", bottom=low, source=source, color=color, legend_label=name
        )
        plot.add_tools(HoverTool(renderers=[bars], tooltips=[("@x", "@value{0,0.000}")]))
        columns["group"] += [group for group, _ in rows]
        columns["series"] += [name] * len(rows)
        columns["value"] += [value for _, value in rows]
    plot.xaxis.major_label_text_font_size = "0px"
    plot.xgrid.grid_line_color = None
    plot.xaxis.major_tick_line_color = None
    plot.x_range.range_padding = 0.02
    plot.add_layout(plot.legend[0], "right")
    plot.legend.background_fill_alpha = 0
    plot.legend.border_line_color = None
    return plot, columns


def draw_table1(result: dict[str, Any]) -> Panel:
    """Time of the three planners."""
    cases = [f"n={c['classes']} P_max={c['live_max']}" for c in result["columns"]]
    series = {
        name: [c[f"{name}_ms"] for c in result["columns"]]
        for name in ("exhaustive", "exact", "greedy")
    }
    plot, columns = grouped_bars(
        cases, series, "milliseconds", (GRAY, ORANGE, BLUE), y_axis_type="log", y_range=(0.001, 1e5)
    )
    caption = (
        "Table 1: time to plan, in one run on this machine. All three find the same bytes here;"
        f" over ten seeds the greedy reaches at least {100 * result['greedy_over_exact_min']:.2f} %"
        " of the proved optimum."
    )
    return Panel("table1", "Exhaustive, exact and greedy planning", caption, plot, columns)


def draw_figure3(result: dict[str, Any]) -> Panel:
    """U and U^B at the two instants."""
    names = {"none": "U: no plan", "peak": "U^B: N_1 = P_1(t2)", "greedy": "U^B: greedy"}
    series = {
        text: [result["rows"][key]["t1_bytes"], result["rows"][key]["t2_bytes"]]
        for key, text in names.items()
    }
    plot, columns = grouped_bars(("t1", "t2"), series, "bytes", (GRAY, RED, BLUE), y_range=(0, 400))
    plot.add_layout(Span(location=result["limit_bytes"], dimension="width", line_dash="dashed"))
    caption = "Fig. 3: taking N_1 from the peak (t2) breaks the limit U_max (dashed) at t1."
    return Panel("figure3", "Why the peak alone does not say how many", caption, plot, columns)


def draw_figure5(result: dict[str, Any], name: str, title: str) -> Panel:
    """R_max of each allocator, the budget's being 100 %."""
    table = result["over_budget"]
    present = next(iter(table.values()))
    systems = [system for system in SYSTEMS if system in present]
    series = {s: [100 * table[w][s] for w in table] for s in systems}
    most = max(max(values) for values in series.values())
    plot, columns = grouped_bars(
        list(table),
        series,
        "R_max, budget = 100 %",
        [SYSTEMS[system] for system in systems],
        y_range=(80, most + 5),
    )
    plot.add_layout(Span(location=100, dimension="width", line_dash="dashed", line_color=BLUE))
    caption = f"Fig. 5: mean over {len(result['seeds'])} seeds. {title}"
    if result["missing"]:
        caption += " Not to be had here: " + ", ".join(result["missing"]) + "."
    return Panel(name, f"Memory for the five workloads, {title}", caption, plot, columns)


def draw_figure6(result: dict[str, Any]) -> Panel:
    """Code of malloc + free."""
    rows = [row for row in result["rows"] if "malloc_free" in row]
    names = sorted({label_of(row) for row in rows})
    series = {
        isa: [
            next((r["malloc_free"] for r in rows if r["isa"] == isa and label_of(r) == n), None)
            for n in names
        ]
        for isa in ("m4", "rv32")
    }
    most = max(row["malloc_free"] for row in rows)
    plot, columns = grouped_bars(names, series, "bytes", (BLUE, ORANGE), y_range=(0, most * 1.05))
    plot.xaxis.group_label_orientation = 0.9
    caption = (
        "Fig. 6: code of malloc + free, -Os, with what the linker pulls in; constants included."
    )
    return Panel("figure6", "Code size", caption, plot, columns)


def label_of(row: dict[str, Any]) -> str:
    """The name of a row of code sizes, with the check level where there is one."""
    return row["name"] + (f" (check {row['check_level']})" if "check_level" in row else "")


def draw_figure7(result: dict[str, Any]) -> Panel:
    """R_max plus code against the budget's R_max."""
    rows = sorted(result["rows"], key=lambda row: row["heap_bytes"]["budget"])
    heap = [row["heap_bytes"]["budget"] for row in rows]
    systems = list(rows[0]["total_bytes"])
    plot = plain_figure(
        x_axis_type="log",
        height=380,
        x_axis_label="R_max of the budgeted heap, bytes",
        y_axis_label="R_max + code, over the budget's",
    )
    columns: dict[str, list[Any]] = {
        "divide_by": [row["divide_by"] for row in rows],
        "budget_heap_bytes": heap,
    }
    for color, system in zip((BLUE, ORANGE, GREEN, RED, GRAY), systems, strict=False):
        columns[f"{system}_total_bytes"] = [row["total_bytes"][system] for row in rows]
        ratio = [row["total_bytes"][system] / row["total_bytes"]["budget"] for row in rows]
        plot.line(heap, ratio, color=color, line_width=2, legend_label=system)
        plot.scatter(heap, ratio, color=color, size=6)
    crossover, told = result["crossover"], "no crossover was found"
    if crossover:
        place = crossover["heap_bytes"]
        told = f"the budget's total is the smallest from R_max = {place:,} bytes on (dashed)"
        plot.add_layout(
            Span(location=place, dimension="height", line_dash="dashed", line_color=BLUE)
        )
    plot.legend.location = "top_right"
    plot.legend.background_fill_alpha = 0
    caption = (
        f"Fig. 7: workload 5 with its sizes divided by 1 to {rows[-1]['divide_by']}, code of"
        f" Cortex-M4: {told}; the paper says 16 KB."
    )
    return Panel("figure7", "When the code pays", caption, plot, columns)


def draw_cross_input(result: dict[str, Any]) -> Panel:
    """Footprint with the plan of input a, over plain TLSF, on a and on b."""
    programs = [row["program"] for row in result["rows"]]
    series = {
        f"{planner}, {text}": [row[planner][key] for row in result["rows"]]
        for planner in ("replayed", "greedy")
        for key, text in (("own_over_tlsf", "its own input"), ("other_over_tlsf", "another input"))
    }
    most = max(max(values) for values in series.values())
    plot, columns = grouped_bars(
        programs,
        series,
        "heap over plain TLSF",
        (BLUE, "#7fb8e6", ORANGE, "#f2cf80"),
        y_range=(0.9, most + 0.02),
    )
    plot.add_layout(Span(location=1.0, dimension="width", line_dash="dashed"))
    plot.add_layout(Span(location=1.02, dimension="width", line_dash="dotted", line_color=RED))
    caption = (
        "A plan made from one input, replayed on it and on another."
        " Dashed: plain TLSF; dotted: + 2 %."
    )
    return Panel("cross-input", "Does a plan hold for another input?", caption, plot, columns)


def panels() -> list[Panel]:
    """Every figure whose results are stored."""
    drawn = []
    for stage, draw in (
        ("figure5", lambda r: draw_figure5(r, "figure5", "layout of a 32-bit machine")),
        ("figure5_host", lambda r: draw_figure5(r, "figure5-host", "this machine's layout")),
        ("cross_input", draw_cross_input),
        ("figure7", draw_figure7),
        ("figure6", draw_figure6),
        ("table1", draw_table1),
        ("figure3", draw_figure3),
    ):
        result = stored(stage)
        if result:
            drawn.append(draw(result))
    return drawn


def verdict() -> str:
    """One sentence with the main result."""
    figure5, cross, again = (stored(name) for name in ("figure5", "cross_input", "recordings"))
    parts = []
    if figure5:
        saving = figure5["saving_percent"].get("lea, same arena", {})
        if saving:
            least, most = min(saving.values()), max(saving.values())
            parts.append(
                f"The budgeted heap needs {least:.1f} to {most:.1f} % less memory than Lea's"
                " allocator in the same arena"
            )
    if cross:
        ratios = [cross["other_over_tlsf_max"], again.get("replayed_other_over_tlsf_max", 0)]
        worst = 100 * (max(ratios) - 1)
        parts.append(f"a plan tried on another input is at worst {worst:+.1f} % from plain TLSF")
    return "; ".join(parts) + "." if parts else "Nothing was measured yet."


def write() -> None:
    """Write the report from what is stored."""
    OUT.mkdir(parents=True, exist_ok=True)
    meta = stored("meta")
    facts = {"paper": "J. Lee and J. Yi, Budgeted Memory Allocator for Embedded Systems, 2008"}
    html = page(
        "Budgeted memory allocator, tried again",
        verdict(),
        facts,
        panels(),
        None,
        meta.get("conditions", {}),
    )
    (OUT / "report.html").write_text(html, encoding="utf-8")

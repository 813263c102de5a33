"""What follows from the results: the main result, and the series of figures."""

from collections.abc import Iterable
from typing import Any

ALLOCATORS = ["budget (replayed)", "budget (greedy)", "budget (seed 0's plan)", "tlsf", "static"]
ALLOCATORS += ["bands"]
ALLOCATORS += ["lea, same arena", "lea of newlib, 4 KiB steps", "lea, 64 KiB steps", "kingsley"]
ALLOCATORS += ["glibc", "mimalloc", "jemalloc"]
INSTANTS = {"none": "U: no plan", "peak": "U^B: N_1 = P_1(t2)", "greedy": "U^B: greedy"}
TRIED = {"own_over_tlsf": "its own input", "other_over_tlsf": "another input"}
GUARANTEED = {"recorded plan": "plan_over_peak", "TLSF": "tlsf_over_peak"}
GUARANTEED |= {"bands": "arena_over_peak", "static": "static_over_peak"}
Series = dict[str, dict[str, float]]


def derived(results: dict[str, Any]) -> dict[str, Any]:
    """All of it."""
    figure5, cross = results["figure5"], results["cross_input"]
    savings = figure5["saving_percent"]["lea, same arena"].values()
    again = results["recordings"].get("replayed_other_over_tlsf_max", 0)
    return {
        "allocators": ALLOCATORS,
        "saving_least": min(savings),
        "saving_most": max(savings),
        "other_over_tlsf_most": max(cross["other_over_tlsf_max"], again),
        "figure5": by_allocator(figure5["over_budget"]),
        "figure5_host": by_allocator(results["figure5_host"]["over_budget"]),
        "cross_input": {
            f"{planner}, {text}": {row["program"]: row[planner][key] for row in cross["rows"]}
            for planner in ("replayed", "greedy")
            for key, text in TRIED.items()
        },
        "figure7": totals(results["figure7"]["rows"]),
        "workloads": workloads(figure5),
        "programs": (rows := programs(results["guarantee"]["rows"], cross["rows"])),
        "programs_series": {
            name: {row["program"]: row[key] for row in rows} for name, key in GUARANTEED.items()
        },
        "bands_tables": bands_tables(figure5["bytes"]),
        "divide_by_most": max(row["divide_by"] for row in results["figure7"]["rows"]),
        "figure6": code_sizes(results["figure6"]["rows"]),
        "table1": {
            name: {
                f"n={case['classes']} P_max={case['live_max']}": case[f"{name}_ms"]
                for case in results["table1"]["columns"]
            }
            for name in ("exhaustive", "exact", "greedy")
        },
        "figure3": {
            text: {t: results["figure3"]["rows"][key][f"{t}_bytes"] for t in ("t1", "t2")}
            for key, text in INSTANTS.items()
        },
    }


def by_allocator(over_budget: Series) -> Series:
    """R_max of each allocator, the budget's being 100 %."""
    known = next(iter(over_budget.values()))
    return {
        system: {name: 100 * row[system] for name, row in over_budget.items()}
        for system in ALLOCATORS
        if system in known
    }


def totals(rows: Iterable[dict[str, Any]]) -> dict[str, list[tuple[int, float]]]:
    """R_max plus code over the budget's, by the budget's R_max."""
    series: dict[str, list[tuple[int, float]]] = {}
    for row in sorted(rows, key=lambda row: row["heap_bytes"]["budget"]):
        for system, total in row["total_bytes"].items():
            point = row["heap_bytes"]["budget"], total / row["total_bytes"]["budget"]
            series.setdefault(system, []).append(point)
    return series


def workloads(figure5: dict[str, Any]) -> list[dict[str, Any]]:
    """Means over the peak: the recorded plan, and what cannot fail within the recorded limits."""
    names = {"plan": "budget (replayed)", "bands": "bands", "static": "static", "tlsf": "tlsf"}
    return [
        {"workload": name, **{key: row[system] for key, system in names.items()}}
        for name, row in figure5["over_peak"].items()
    ]


def bands_tables(table: dict[str, dict[str, list[int]]]) -> list[int]:
    """The least and the most that bands take above static allocation."""
    above = [
        bands - static
        for row in table.values()
        for bands, static in zip(row["bands"], row["static"], strict=True)
    ]
    return [min(above), max(above)]


def programs(
    guaranteed: list[dict[str, Any]], planned: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Guarantees on real programs, next to the recorded plan of the same input."""
    plans = {
        row["program"]: row["replayed"]["a"] / row["peak_live_bytes"]["a"] for row in planned
    }
    return [{**row, "plan_over_peak": plans.get(row["program"])} for row in guaranteed]


def code_sizes(rows: Iterable[dict[str, Any]]) -> Series:
    """Code of malloc and free by processor; ours with the check level."""
    series: Series = {"m4": {}, "rv32": {}}
    for row in rows:
        if "malloc_free" in row:
            level = f" (check {row['check_level']})" if "check_level" in row else ""
            series[row["isa"]][row["name"] + level] = row["malloc_free"]
    return series

"""The paper's Fig. 7 [P1-26]: R_max plus code size of workload 5 as its sizes shrink, and where the
budget starts to win.

The paper divides the sizes of W5 by up to about 200 and finds the budgeted allocator's total
smallest once R_max is above 16 KB. Sizes are divided by whole numbers here (at least one byte;
equal classes after rounding share one), until another total is smaller, so that the crossover is
seen and is not the end of the sweep. Code is Cortex-M4, malloc + free, since the paper's was ARM:
ours and Kingsley -Os; Lea's in two forms, each with its own heap: 2.8 as a Rust crate at opt-level
s, and 2.6.4 in C as newlib's package ships it.

The paper leaves the static allocator out of this figure. Here it is in it, with the pools for bands
of sizes; `crossover` is among the paper's systems. Static allocation has no code of its own to
compile: its total is the heap, a lower bound.
"""

from typing import Any

from repro.budget.figure5 import SYSTEMS_32, Measure
from bench.allocators.ours import bands_of, safe_heap, plan_of
from repro.budget.traces import RESULTS, trace_of
from tautochrone.console.output import note

DIVISORS = (
    *(1, 2, 5, 10, 20, 30, 50, 70, 100, 130, 160, 200, 400),
    *(800, 1000, 1200, 1400, 1600, 3200, 6400),
)
WORKLOAD = "W5"
SEED = 0
LEA = {"dlmalloc": "lea, same arena", "newlib": "lea of newlib, 4 KiB steps"}
LEFT_OUT = ("bands", "static")  # by the paper


def code_bytes(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Code of each system on Cortex-M4: malloc + free, ours without checks."""
    names = {"pools": "bands", **LEA} | {name: name for name in ("budget", "tlsf", "kingsley")}
    return {
        names[row["name"]]: row["malloc_free"]
        for row in rows
        if row["isa"] == "m4" and row["name"] in names and row.get("check_level", 0) == 0
    } | {"static": 0}


def heap_bytes(divide_by: int) -> dict[str, int]:
    """R_max of each system at one scale."""
    trace = trace_of(WORKLOAD, SEED, divide_by)
    plan = plan_of(trace, "replayed")
    lea: dict[str, Measure] = {name: SYSTEMS_32[name] for name in LEA.values()}
    return {
        "budget": safe_heap(trace, "budget", plan),
        "bands": safe_heap(trace, "pools", bands_of(trace)),
        "static": safe_heap(trace, "static"),
        "tlsf": safe_heap(trace, "tlsf"),
        "kingsley": safe_heap(trace, "kingsley"),
        **{name: measure(WORKLOAD, SEED, trace) for name, measure in lea.items()},
    }


def crossover(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """R_max of the budget from which on its total stays the smallest of the paper's systems, and
    the size below where it is not, with whose is; None if the sweep does not hold both.
    """
    smallest = None
    for row in sorted(rows, key=lambda item: item["heap_bytes"]["budget"], reverse=True):
        totals = {n: total for n, total in row["total_bytes"].items() if n not in LEFT_OUT}
        winner = min(totals, key=totals.__getitem__)
        if totals["budget"] > totals[winner]:
            below = {"below_bytes": row["heap_bytes"]["budget"], "below_winner": winner}
            return None if smallest is None else {"heap_bytes": smallest, **below}
        smallest = row["heap_bytes"]["budget"]
    return None


def measure(divisors: tuple[int, ...] = DIVISORS) -> dict[str, Any]:
    """One row a scale: heap, code and total of each system; and the crossover."""
    code = code_bytes(RESULTS.stored("figure6")["rows"])
    rows = []
    for divide_by in divisors:
        note(f"figure 7: sizes / {divide_by}")
        heap = heap_bytes(divide_by)
        total = {name: heap[name] + code[name] for name in heap if name in code}
        rows.append({"divide_by": divide_by, "heap_bytes": heap, "total_bytes": total})
    return {
        "code_bytes": code,
        "rows": rows,
        "crossover": crossover(rows),
        "bands_below_budget": bands_below_budget(rows),
    }


def bands_below_budget(rows: list[dict[str, Any]]) -> list[int]:
    """R_max of the budget at the scales at which the total of bands is smaller than its own."""
    return [
        row["heap_bytes"]["budget"]
        for row in rows
        if row["total_bytes"]["bands"] < row["total_bytes"]["budget"]
    ]

"""The paper's Table 1 [P1-18]: exhaustive search, greedy and our exact planner on the same profiles
in one run.

The paper does not give the sizes of Table 1. Here the first three cases have workload 4's sizes
(none is a power of two, so greedy and optimum can differ). The case with five classes adds 264
bytes. Times are a ratio in the same run, the shortest of REPEATS calls each: greedy and exhaustive
search are both C over the same instants, the exact planner is a library's branch and bound behind a
Python call. What the exhaustive search finds is what the exact planner must prove.
"""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repro.budget import workload
from repro.budget.traces import RESULTS, import_events
from tautochrone.plan.heap import Budget, exact, exhaustive, greedy
from tautochrone.plan.profile import Instants, profile_of

SIZES_BYTES = (*workload.WORKLOADS["W4"], 264)
CASES = ((4, 10), (4, 20), (5, 10))  # n, P_max
REPEATS = 5


def case_trace(classes: int, live_max: int, seed: int) -> Path:
    """The trace of one case."""
    sizes = SIZES_BYTES[:classes]
    path = RESULTS.out / "traces" / f"table1-{classes}-{live_max}-{seed}.tau"
    return import_events(path, workload.events(sizes, seed, workload.STEPS, live_max))


def timed(planner: Callable[[Instants], Budget], instants: Instants) -> tuple[Budget, float]:
    """The planner's answer and the shortest of REPEATS times in seconds."""
    best = float("inf")
    for _ in range(REPEATS):
        started = time.perf_counter()
        budget = planner(instants)
        best = min(best, time.perf_counter() - started)
    return budget, best


def dedicated_bytes(instants: Instants, budget: Budget) -> int:
    """Eq 7: the sum of S_i N_i."""
    return sum(s * n for s, n in zip(instants.sizes_bytes, budget.counts, strict=True))


def instants_of(trace: Path) -> Instants:
    """The profile of a trace with every size a class, sizes not rounded [P1-10]."""
    profile = profile_of([trace], granule_bytes=2)
    return profile.reduce([size.size_bytes for size in profile.sizes])


def measure_case(classes: int, live_max: int, seed: int, with_exhaustive: bool) -> dict[str, Any]:
    """One column of Table 1."""
    instants = instants_of(case_trace(classes, live_max, seed))
    greedy_budget, greedy_seconds = timed(greedy.budget, instants)
    exact_budget, exact_seconds = timed(exact.budget, instants)
    column = {
        "classes": classes,
        "live_max": live_max,
        "seed": seed,
        "instants": instants.count,
        "combinations": math.prod(peak + 1 for peak in instants.peaks),
        "limit_bytes": instants.limit_bytes,
        "greedy_bytes": dedicated_bytes(instants, greedy_budget),
        "greedy_counts": greedy_budget.counts,
        "greedy_ms": round(greedy_seconds * 1000, 3),
        "exact_bytes": dedicated_bytes(instants, exact_budget),
        "exact_counts": exact_budget.counts,
        "exact_ms": round(exact_seconds * 1000, 3),
        "exact_optimal_within": exact_budget.optimal_within,
    }
    column["greedy_over_exact"] = column["greedy_bytes"] / max(column["exact_bytes"], 1)
    if with_exhaustive:
        found, seconds = timed(exhaustive.budget, instants)
        column["exhaustive_bytes"] = dedicated_bytes(instants, found)
        column["exhaustive_ms"] = round(seconds * 1000, 3)
        column["exhaustive_over_greedy_time"] = seconds / greedy_seconds
        column["exact_over_exhaustive_time"] = exact_seconds / seconds
    return column


def measure() -> dict[str, Any]:
    """All cases of Table 1 with exhaustive search on seed 0; greedy against the proved optimum on
    ten seeds.
    """
    columns = [measure_case(n, live_max, 0, True) for n, live_max in CASES]
    others = [
        measure_case(n, live_max, seed, False) for n, live_max in CASES for seed in workload.SEEDS
    ]
    return {
        "sizes_bytes": list(SIZES_BYTES),
        "columns": columns,
        "greedy_over_exact_min": min(c["greedy_over_exact"] for c in others),
        "greedy_over_exact_by_case": {
            f"n={n}, P_max={p}": [
                round(c["greedy_over_exact"], 5)
                for c in others
                if (c["classes"], c["live_max"]) == (n, p)
            ]
            for n, p in CASES
        },
    }

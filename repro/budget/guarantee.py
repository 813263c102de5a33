"""Heaps that cannot fail within their limits, on the real programs of cross_input.

The paper's plan holds for the recorded order of calls. A pool for each exact size holds every
order, and so do pools for bands of sizes: bench/guarantee measures both, and what input b exceeds.
"""

from typing import Any

from bench.allocators import programs
from bench.guarantee.run import measure_one
from tautochrone.console.output import note


def measure(chosen: tuple[str, ...] = ()) -> dict[str, Any]:
    """One row a program that this machine has."""
    rows = []
    for program, inputs in programs.record_all(chosen).items():
        note(f"guarantee: {program}")
        rows.append(measure_one(program, inputs))
    ratios = [row["arena_over_peak"] for row in rows]
    return {"rows": rows, "least_over_peak": min(ratios), "most_over_peak": max(ratios)}

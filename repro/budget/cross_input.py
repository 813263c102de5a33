"""Does a plan hold for another input? The plan of input a replayed on input b of the same real
program.

The paper profiles and measures the same run. A plan that is shipped meets other inputs, so this is
the number that counts: at most 2 % above plain TLSF on b. bench/allocators has the programs
and inputs.
"""

from pathlib import Path
from typing import Any

from bench.allocators import programs
from bench.allocators.ours import safe_heap, plan_of
from tautochrone.machine.core_build import FASTEST
from tautochrone.console.output import note
from tautochrone.heap.plan import Wanted, make_plan
from tautochrone.trace.file import open_trace

PLANNERS = ("replayed", "greedy")


def measure_program(program: str, inputs: dict[str, Path]) -> dict[str, Any]:
    """Footprints on a and b: plain TLSF, and the plan of a by each planner."""
    row: dict[str, Any] = {"program": program, "tlsf": {}, "peak_live_bytes": {}, "events": {}}
    for which, trace in inputs.items():
        with open_trace(trace) as reader:
            row["peak_live_bytes"][which] = int(reader.totals.peak_live_bytes)
            row["events"][which] = int(reader.totals.events)
        row["tlsf"][which] = safe_heap(trace, "tlsf")
    both = make_plan(list(inputs.values()), Wanted(layout="32", build=FASTEST)).plan
    row["both"] = {
        which: safe_heap(trace, "budget", both) / row["tlsf"][which]
        for which, trace in inputs.items()
    }
    for planner in PLANNERS:
        plan = plan_of(inputs["a"], planner)
        own, other = (safe_heap(inputs[which], "budget", plan) for which in ("a", "b"))
        row[planner] = {
            "a": own,
            "b": other,
            "own_over_tlsf": own / row["tlsf"]["a"],
            "other_over_tlsf": other / row["tlsf"]["b"],
            "classes": len(plan.classes),
            "dedicated_bytes": plan.dedicated_bytes,
        }
    return row


def measure(chosen: tuple[str, ...] = ()) -> dict[str, Any]:
    """One row a program that this machine has."""
    rows = []
    for program, inputs in programs.record_all(chosen).items():
        note(f"other input: {program}")
        rows.append(measure_program(program, inputs))
    return {
        "rows": rows,
        "own_over_tlsf_max": max(row["replayed"]["own_over_tlsf"] for row in rows),
        "other_over_tlsf_max": max(row["replayed"]["other_over_tlsf"] for row in rows),
        "both_over_tlsf_max": max(max(row["both"].values()) for row in rows),
        "other_over_tlsf": {row["program"]: row["replayed"]["other_over_tlsf"] for row in rows},
        "greedy_own_over_tlsf_max": max(row["greedy"]["own_over_tlsf"] for row in rows),
        "greedy_other_over_tlsf_max": max(row["greedy"]["other_over_tlsf"] for row in rows),
    }

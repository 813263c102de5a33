"""How far cross_input depends on the recording: both inputs of ffmpeg, recorded several times.

ffmpeg reads its sources in threads, so the order of its calls differs from run to run. Plans are
made of each recording and replayed on one of the other input.
"""

from pathlib import Path
from typing import Any

from bench.allocators import programs
from bench.allocators.ours import safe_heap, plan_of
from tautochrone.machine.core_build import FASTEST
from tautochrone.console.output import note
from tautochrone.heap.plan import Wanted, make_plan

PROGRAM = "ffmpeg"
PAIRS_COUNT = 8
PLANNERS = ("replayed", "greedy")
IN_32_BITS = Wanted(layout="32", build=FASTEST)
COSTLY = 1.02  # what a plan may cost on another input, over plain TLSF


def measure_pair(inputs: dict[str, Path]) -> dict[str, Any]:
    """Heaps over plain TLSF's: each planner's plan of one input on both, and the plan of both."""
    tlsf = {which: safe_heap(trace, "tlsf") for which, trace in inputs.items()}

    def over_tlsf(plan: Any) -> dict[str, float]:
        return {w: safe_heap(trace, "budget", plan) / tlsf[w] for w, trace in inputs.items()}

    return {
        "both": over_tlsf(make_plan(list(inputs.values()), IN_32_BITS).plan),
        **{
            planner: {w: over_tlsf(plan_of(trace, planner)) for w, trace in inputs.items()}
            for planner in PLANNERS
        },
    }


def summarize(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    """The worst of each planner on the other input, and how many plans cost more than COSTLY."""
    result: dict[str, Any] = {"pairs": pairs, "plans_count": 2 * len(pairs)}
    for planner in PLANNERS:
        other = [pair[planner][planned][tried] for pair in pairs for planned, tried in ("ab", "ba")]
        result[f"{planner}_other_over_tlsf_max"] = max(other)
        result[f"{planner}_costly_count"] = sum(ratio > COSTLY for ratio in other)
    result["own_over_tlsf_max"] = max(pair["replayed"][w][w] for pair in pairs for w in "ab")
    result["both_over_tlsf_max"] = max(pair["both"][w] for pair in pairs for w in "ab")
    return result


def measure() -> dict[str, Any]:
    """Every pair; empty if PROGRAM is not installed."""
    if not programs.record_all((PROGRAM,)):
        return {}
    pairs = []
    for number in range(1, PAIRS_COUNT + 1):
        note(f"recordings: {PROGRAM} {number} of {PAIRS_COUNT}")
        inputs = {
            which: programs.record(f"{PROGRAM}-{number}", which, run)
            for which, run in programs.runs()[PROGRAM].items()
        }
        pairs.append(measure_pair(inputs))
    return summarize(pairs)

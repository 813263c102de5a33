"""Cost of a heap that cannot fail within its limits: `tau plan --guarantee` on real programs.

Run `python -m bench guarantee`; it writes out/bench/guarantee.json. The programs and their inputs a
and b come from bench/allocators, replayed as a 32-bit target would lay them out. Each row has
arenas with all tables, as multiples of the peak of live bytes of input a:

- bands at the recorded limits;
- a pool for each exact size, without tables, so this is a lower bound;
- plain TLSF, which promises nothing;
- for any order of calls with this peak: Robson's lower bound, and half-fit's, which o1heap states.

Then the plan of input a, with the default margin, is compared with input b.
"""

import time
from pathlib import Path
from typing import Any

from bench.allocators import programs
from bench.runner import Bench, Given
from tautochrone.heap.exceeding import exceeded
from tautochrone.heap.guarantee import make_guarantee
from tautochrone.replay.run import completes, safe_heap
from tautochrone.trace.file import open_trace

LAYOUT = "32"


def measure_one(program: str, inputs: dict[str, Path]) -> dict[str, Any]:
    """One row."""
    started = time.process_time()
    made = make_guarantee([inputs["a"]], 0.0, LAYOUT)
    seconds = time.process_time() - started
    peak = made.peak_live_bytes
    plan = made.plan
    planned = make_guarantee([inputs["a"]], None, LAYOUT).plan
    over = exceeded(open_trace(inputs["b"]), planned)
    return {
        "program": program,
        "events": plan.traces[0].events,
        "sizes": made.sizes_count,
        "bands": len(plan.classes),
        "arena_over_peak": plan.heap_bytes / peak,
        "static_over_peak": made.others.static_bytes / peak,
        "tlsf_over_peak": safe_heap(inputs["a"], "tlsf", layout=LAYOUT) / peak,
        "any_order_over_peak": made.others.any_order_bytes / peak,
        "half_fit_over_peak": made.others.half_fit_bytes / peak,
        "optimal_within": plan.optimal_within,
        "holds": completes(inputs["a"], "pools", plan.heap_bytes, plan, LAYOUT),
        "margin_over_peak": planned.heap_bytes / peak,
        "exceeded_bands": sum(row.limit_count > 0 for row in over),
        "above_bands": sum(row.limit_count == 0 for row in over),
        "seconds": round(seconds, 2),
    }


def measure(given: Given) -> dict[str, Any]:
    """Every program, or the words of the command line."""
    wanted = tuple(given.words) or (("minisat", "jq") if given.quick else ())
    recorded = programs.record_all(wanted)
    return {"version": 1, "rows": [measure_one(*each) for each in recorded.items()]}


def complaints(result: dict[str, Any]) -> list[str]:
    """Plans that do not hold, or are farther from the best than a per cent."""
    return [
        f"{row['program']}: the plan does not hold its own recording"
        for row in result["rows"]
        if not row["holds"]
    ]


BENCH = Bench("guarantee", measure, complaints=complaints)

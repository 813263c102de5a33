"""How a plan made from one input does on another input of the same program.

Run `python -m bench planners.inputs`; it writes out/bench/planners_inputs.json. bench/allocators
has the programs and their two inputs. Each planner plans from each input. The plan is replayed on
that input and on the other one, and compared with plain TLSF. A figure is the heap over plain
TLSF's, minus one: below 0 the plan gains.
"""

import time
from pathlib import Path
from typing import Any

from bench.allocators.programs import record_all
from bench.runner import Bench
from tautochrone.machine.core_build import FASTEST
from tautochrone.heap.recordings import ReplayedRecording
from tautochrone.heap.plan import Wanted, make_plan
from tautochrone.heap.safe import safe_heap

PLANNERS = ("replayed", "greedy")


def measure_pair(program: str, planned: Path, other: Path, planner: str) -> dict[str, Any]:
    """One plan on its own and on another input."""
    started = time.perf_counter()
    made = make_plan([planned], Wanted(planner, layout="32", build=FASTEST))
    seconds = time.perf_counter() - started
    recording = ReplayedRecording(other, "32")
    plain = safe_heap([recording], ())
    return {
        "program": program,
        "planned": planned.stem,
        "other": other.stem,
        "planner": planner,
        "classes": len(made.plan.classes),
        "dedicated_share": round(made.plan.dedicated_bytes / made.plan.heap_bytes, 4),
        "own": round(made.measured_heap_bytes / made.plain_heap_bytes - 1, 5),
        "on_other": round(safe_heap([recording], made.plan.classes) / plain - 1, 5),
        "plain_over_peak": round(made.plain_heap_bytes / made.plan.traces[0].peak_live_bytes, 4),
        "replays": made.replays,
        "seconds": round(seconds, 1),
    }


def run(chosen: tuple[str, ...] = ()) -> dict[str, Any]:
    """Every program, both ways, with every planner."""
    rows = []
    for program, traces in record_all(chosen).items():
        for planned, other in (("a", "b"), ("b", "a")):
            for planner in PLANNERS:
                rows.append(measure_pair(program, traces[planned], traces[other], planner))
    return {
        "version": 1,
        "bench": "planners_inputs",
        "rows": rows,
        "replayed": [row for row in rows if row["planner"] == "replayed"],
    }


BENCH = Bench("planners_inputs", lambda given: run(tuple(given.words)))

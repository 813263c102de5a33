"""How a plan made from one input does on another input of the same program.

Run `python -m bench.planners.inputs`; it writes out/bench/planners_inputs.json. The programs and
their two inputs are those of bench/allocators. Each planner plans from each input; the plan is
replayed on that input and on the other one, beside plain TLSF. A figure is the heap over plain
TLSF's, minus one: below 0 the plan gains.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from bench.allocators.programs import record_all
from tautochrone.code.build import FASTEST
from tautochrone.plan.heap.recordings import ReplayedRecording
from tautochrone.plan.making import Wanted, make_plan

ROOT = Path(__file__).resolve().parents[2]
ROOT = Path(__file__).resolve().parents[2]
PLANNERS = ("replayed", "greedy")
OTHER_INPUT_MUST = 0.02  # at most this above plain TLSF


def measure_pair(program: str, planned: Path, other: Path, planner: str) -> dict[str, object]:
    """One plan on its own and on another input."""
    started = time.perf_counter()
    made = make_plan([planned], Wanted(planner, layout="32", build=FASTEST))
    seconds = time.perf_counter() - started
    recording = ReplayedRecording(other, "32")
    plain = recording.smallest_heap(())
    return {
        "program": program,
        "planned": planned.stem,
        "other": other.stem,
        "planner": planner,
        "classes": len(made.plan.classes),
        "dedicated_share": round(made.plan.dedicated_bytes / made.plan.heap_bytes, 4),
        "own": round(made.measured_heap_bytes / made.plain_heap_bytes - 1, 5),
        "on_other": round(recording.smallest_heap(made.plan.classes) / plain - 1, 5),
        "plain_over_peak": round(made.plain_heap_bytes / made.plan.traces[0].peak_live_bytes, 4),
        "replays": made.replays,
        "seconds": round(seconds, 1),
    }


def run(chosen: tuple[str, ...] = ()) -> dict[str, object]:
    """Every program, both ways, with every planner."""
    rows = []
    for program, traces in record_all(chosen).items():
        for planned, other in (("a", "b"), ("b", "a")):
            for planner in PLANNERS:
                rows.append(measure_pair(program, traces[planned], traces[other], planner))
                print(json.dumps(rows[-1]), flush=True)
    return {
        "version": 1,
        "bench": "planners_inputs",
        "must": {"own": 0.0, "on_other": OTHER_INPUT_MUST},
        "rows": rows,
    }


def main() -> int:
    """Write out/bench/planners_inputs.json; 3 if the replayed planner missed what it must reach."""
    result = run(tuple(sys.argv[1:]))
    target = ROOT / "out" / "bench" / "planners_inputs.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(result, indent=2) + "\n")
    print(f"written: {target.relative_to(ROOT)}", file=sys.stderr)
    replayed = [row for row in result["rows"] if row["planner"] == "replayed"]
    reached = all(row["own"] <= 0 and row["on_other"] <= OTHER_INPUT_MUST for row in replayed)
    return 0 if reached else 3


if __name__ == "__main__":
    sys.exit(main())

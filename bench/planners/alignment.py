"""What an alignment of 4 saves on 32-bit layouts: plain TLSF and plans, heap over peak.

Run `python -m bench planners.alignment [PROGRAM…]`; it writes out/bench/planners_alignment.json.
bench/allocators has the programs. Each heap is planned from the program's input a, for this input
alone, and is a threshold [PLAN-6]. The least is the peak with sizes rounded up to the alignment.
"""

from pathlib import Path
from typing import Any

from bench.allocators.programs import record_all
from bench.runner import Bench
from tautochrone.heap.plan import Wanted, make_plan
from tautochrone.machine.core_build import Build

ALIGNMENTS = (8, 4)


def measure(program: str, trace: Path) -> dict[str, Any]:
    """One recording with each alignment."""
    row: dict[str, Any] = {"program": program}
    for alignment in ALIGNMENTS:
        build = Build(alignment_bytes=4 if alignment == 4 else None)
        wanted = Wanted(layout="32", build=build, is_input_fixed=True)
        made = make_plan([trace], wanted)
        peak = made.plan.traces[0].peak_live_bytes
        row[f"plain_{alignment}"] = round(made.plain_heap_bytes / peak, 5)
        row[f"planned_{alignment}"] = round(made.plan.heap_bytes / peak, 5)
        row[f"least_{alignment}"] = round(made.least_bytes / peak, 5)
    row["saved"] = round(1 - row["planned_4"] / row["planned_8"], 5)
    return row


def run(chosen: tuple[str, ...] = ()) -> dict[str, Any]:
    """Every program."""
    rows = [measure(program, traces["a"]) for program, traces in record_all(chosen).items()]
    return {"version": 1, "bench": "planners_alignment", "rows": rows}


BENCH = Bench("planners_alignment", lambda given: run(tuple(given.words)))

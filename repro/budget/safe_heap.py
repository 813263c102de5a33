"""How far the smallest heap is from the size from which on every larger one holds too.

    python -m repro.budget.safe_heap

A larger heap can place blocks elsewhere and fail, so the smallest heap that completes a trace is
not the size from which on all complete it, its safe heap. Measured on the paper's workloads W1 to
W5 of repro/budget, TLSF and the budget of the replayed plan: the smallest heap as tau replay finds
it; what galloping and bisecting alone find; and the safe heap, up to REACH of the peak: behind the
last of SIZES_COUNT sizes between the two that fails, refined to 8 bytes. Writes
out/bench/safe_heap.json.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.allocators.ours import plan_of
from bench.runner import Bench, Given
from repro.budget import workload
from repro.budget.traces import trace_of
from tautochrone.facts import fault_format as faults
from tautochrone.plan.file import Plan
from tautochrone.replay import opened
from tautochrone.replay.search import RESOLUTION_BYTES
from tautochrone.replay.session import Session
from tautochrone.replay.systems import system_named

REACH = 1.25
SIZES_COUNT = 2048
SEEDS = (0, 1, 2)


def safe_heap(session: Session, smallest_bytes: int, most_bytes: int) -> int:
    """The size behind the largest that was seen to fail; `smallest_bytes` if none was."""
    pitch = max((most_bytes - smallest_bytes) // SIZES_COUNT // 8 * 8, RESOLUTION_BYTES)
    for fails in range(most_bytes // 8 * 8, smallest_bytes, -pitch):
        if session.run(fails, checked=False).fault != faults.COMPLETED:
            holds = fails + pitch
            while holds - fails > RESOLUTION_BYTES:
                middle = (holds + fails) // 16 * 8
                if session.run(middle, checked=False).fault == faults.COMPLETED:
                    holds = middle
                else:
                    fails = middle
            return holds
    return smallest_bytes


def measure(trace: Path, system: str, plan: Plan | None) -> dict[str, float]:
    """Smallest, bisected and safe heap of one system on one trace."""
    decoded = opened.open_trace_for_replay(trace)
    peak_bytes = int(decoded.facts.peak_live_bytes)
    with system_named(system).session(decoded, plan) as session:
        smallest = session.smallest_heap()
        bisected = session.smallest_heap(grid_sizes=1)
        safe = safe_heap(session, smallest, int(peak_bytes * REACH))
    sizes = {"peak": peak_bytes, "smallest": smallest, "bisected": bisected, "safe": safe}
    above = {"bisected_above": bisected / smallest - 1, "safe_above": safe / smallest - 1}
    return sizes | above


def measure_all(_: Given) -> dict[str, Any]:
    """One row a workload, seed and system."""
    rows = []
    for name in workload.WORKLOADS:
        for seed in SEEDS:
            trace = trace_of(name, seed)
            plan = plan_of(trace, "replayed")
            for system in ("tlsf", "budget"):
                if system == "tlsf" or plan.classes:
                    sizes = measure(trace, system, plan if system == "budget" else None)
                    rows.append({"workload": name, "seed": seed, "system": system, **sizes})
    return {"version": 1, "rows": rows}


def lines(result: dict[str, Any]) -> Iterator[str]:
    """The range over each system."""
    for system in ("tlsf", "budget"):
        for key in ("bisected", "safe"):
            above = [row[f"{key}_above"] for row in result["rows"] if row["system"] == system]
            yield f"{system}: {key} above smallest: {min(above):.2%} to {max(above):.2%}"


BENCH = Bench("safe_heap", measure_all, lines)


if __name__ == "__main__":
    sys.exit(BENCH.main())

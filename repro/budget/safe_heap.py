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

import json
from pathlib import Path

from repro.budget import workload
from repro.budget.measure import plan_of, trace_of
from tautochrone.facts import fault_format as faults
from tautochrone.plan.file import Plan
from tautochrone.replay import opened
from tautochrone.replay.search import RESOLUTION_BYTES
from tautochrone.replay.session import Session
from tautochrone.replay.systems import system_named

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "out" / "bench" / "safe_heap.json"
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


def measure(trace: Path, system: str, plan: Plan | None) -> dict[str, int]:
    """Smallest, bisected and safe heap of one system on one trace."""
    decoded = opened.open_trace_for_replay(trace)
    peak_bytes = int(decoded.facts.peak_live_bytes)
    with system_named(system).session(decoded, plan) as session:
        smallest = session.smallest_heap()
        bisected = session.smallest_heap(grid_sizes=1)
        safe = safe_heap(session, smallest, int(peak_bytes * REACH))
    return {"peak": peak_bytes, "smallest": smallest, "bisected": bisected, "safe": safe}


def main() -> None:
    """Print and store one row a workload, seed and system, and the range over each system."""
    rows = []
    for name in workload.WORKLOADS:
        for seed in SEEDS:
            trace = trace_of(name, seed)
            plan = plan_of(trace, "replayed")
            for system in ("tlsf", "budget"):
                if system == "tlsf" or plan.classes:
                    sizes = measure(trace, system, plan if system == "budget" else None)
                    rows.append({"workload": name, "seed": seed, "system": system, **sizes})
                    above = [sizes[key] / sizes["smallest"] - 1 for key in ("bisected", "safe")]
                    print(f"{name} seed {seed} {system:6} {sizes} bisected +{above[0]:.2%}", end="")
                    print(f", safe +{above[1]:.2%}", flush=True)
    for system in ("tlsf", "budget"):
        for key in ("bisected", "safe"):
            above = [row[key] / row["smallest"] - 1 for row in rows if row["system"] == system]
            print(f"{system}: {key} above smallest: {min(above):.2%} to {max(above):.2%}")
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps({"version": 1, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

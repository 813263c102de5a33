"""How far the safe heap is above the least heap that bisection finds.

The safe heap of TLSF and of a budget is a threshold: no larger size fails [REPLAY-16], so the scan
finds none above it. Measured on the paper's workloads W1 to W5, with TLSF and the budget of the
replayed plan:

- the heap that galloping and bisecting alone find,
- the safe heap that tau replay states,
- the scanned heap, up to REACH of the peak: behind the last of SIZES_COUNT sizes that fails,
  refined to 8 bytes.
"""

from pathlib import Path
from typing import Any

from bench.allocators.ours import plan_of
from repro.budget import workload
from repro.budget.traces import trace_of
from tautochrone.facts import fault_format as faults
from tautochrone.plan.file import Plan
from tautochrone.replay import open_trace
from tautochrone.replay.search import RESOLUTION_BYTES
from tautochrone.replay.session import Session
from tautochrone.replay.systems import system_named

REACH = 1.25
SIZES_COUNT = 2048
SEEDS = (0, 1, 2)


def scanned_heap(session: Session, bisected_bytes: int, most_bytes: int) -> int:
    """The size behind the largest that was seen to fail; `bisected_bytes` if none was."""
    pitch = max((most_bytes - bisected_bytes) // SIZES_COUNT // 8 * 8, RESOLUTION_BYTES)
    for fails in range(most_bytes // 8 * 8, bisected_bytes, -pitch):
        if session.run(fails, checked=False).fault != faults.COMPLETED:
            holds = fails + pitch
            while holds - fails > RESOLUTION_BYTES:
                middle = (holds + fails) // 16 * 8
                if session.run(middle, checked=False).fault == faults.COMPLETED:
                    holds = middle
                else:
                    fails = middle
            return holds
    return bisected_bytes


def row_of(trace: Path, system: str, plan: Plan | None) -> dict[str, float]:
    """Bisected, safe and scanned heap of one system on one trace."""
    decoded = open_trace.open_trace_for_replay(trace)
    peak_bytes = int(decoded.facts.peak_live_bytes)
    with system_named(system).session(decoded, plan) as session:
        bisected, safe = session.bisected_heap(), session.safe_heap()
        scanned = scanned_heap(session, bisected, int(peak_bytes * REACH))
    sizes = {"peak": peak_bytes, "bisected": bisected, "safe": safe, "scanned": scanned}
    above = {"safe_above": safe / bisected - 1, "scanned_above": scanned / bisected - 1}
    return sizes | above


def measure() -> dict[str, Any]:
    """One row per workload, seed and system, and the ranges of each system."""
    rows = []
    for name in workload.WORKLOADS:
        for seed in SEEDS:
            trace = trace_of(name, seed)
            plan = plan_of(trace, "replayed")
            for system in ("tlsf", "budget"):
                if system == "tlsf" or plan.classes:
                    sizes = row_of(trace, system, plan if system == "budget" else None)
                    rows.append({"workload": name, "seed": seed, "system": system, **sizes})
    ranges: dict[str, dict[str, list[float]]] = {}
    for system in ("tlsf", "budget"):
        own = [row for row in rows if row["system"] == system]
        ranges[system] = {
            key: [min(row[key] for row in own), max(row[key] for row in own)]
            for key in ("safe_above", "scanned_above")
        }
    return {"rows": rows, "ranges": ranges}

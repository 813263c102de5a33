"""What the stages of the reproduction share: traces of the workloads, plans and footprints.

Footprints are the smallest heap that completes the trace, control structures included (R_max of the
paper [P1-22]); for a system that grows its heap, what it took. The layout is that of a 32-bit
machine unless it says host.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from repro.budget import workload
from repro.results import Results
from tautochrone.code.build import FASTEST
from tautochrone.plan.file import Plan
from tautochrone.plan.making import Wanted, make_plan
from tautochrone.replay.run import smallest_heap
from tautochrone.trace.file import OPS, TraceWriter

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
_RESULTS = Results("budget")
RESULTS, OUT = _RESULTS.folder, _RESULTS.out
store, stored = _RESULTS.store, _RESULTS.stored


def import_events(path: Path, events: Iterable[workload.Event]) -> Path:
    """Write a trace with these events to PATH and return it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = zip(*((OPS.index(op), name, size) for op, name, size in events), strict=True)
    op, slot, size_bytes = (np.array(column) for column in columns)
    partial = path.with_suffix(f".{os.getpid()}")  # another process may be making the same
    with TraceWriter(partial, {"command": ["repro/budget/workload.py", path.stem]}) as writer:
        writer.append(op=op, slot=slot, size_bytes=size_bytes)
    partial.replace(path)
    return path


@functools.cache
def trace_of(name: str, seed: int, divide_by: int = 1, steps: int = workload.STEPS) -> Path:
    """The trace of a workload of Table 2, with its sizes divided by DIVIDE_BY (at least one byte).
    """
    sizes = [max(size // divide_by, 1) for size in workload.WORKLOADS[name]]
    label = f"{name}-{seed}-{divide_by}-{steps}.tau"
    return import_events(OUT / "traces" / label, workload.events(sizes, seed, steps))


@functools.cache
def plan_of(trace: Path, planner: str, layout: str = "32") -> Plan:
    """The plan that `tau plan` makes of one recording."""
    return make_plan([trace], Wanted(planner, layout=layout, build=FASTEST)).plan


def footprint(trace: Path, system: str, plan: Plan | None = None, layout: str = "32") -> int:
    """R_max in bytes. A plan without classes is plain TLSF, as the plan itself says."""
    if plan is not None and not plan.classes:
        system, plan = "tlsf", None
    return smallest_heap(trace, system, plan=plan, layout=layout)

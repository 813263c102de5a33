"""The traces of the paper's workloads.

bench/allocators/ours.py makes plans and footprints (R_max of the paper [P1-22]), in the layout of a
32-bit machine unless it says host.
"""

import functools
from collections.abc import Iterable
from pathlib import Path

from bench.recording import write_trace
from repro.budget import workload
from repro.engine.results import results_of
from tautochrone.trace.file import OPS

RESULTS = results_of("budget")


def import_events(path: Path, events: Iterable[workload.Event]) -> Path:
    """Write a trace with these events to PATH and return it."""
    rows = ((OPS.index(op), name, size) for op, name, size in events)
    return write_trace(path, "repro/budget/workload.py", rows)


@functools.cache
def trace_of(name: str, seed: int, divide_by: int = 1, steps: int = workload.STEPS) -> Path:
    """The trace of a workload of Table 2, with its sizes divided by DIVIDE_BY (at least one byte).
    """
    sizes = [max(size // divide_by, 1) for size in workload.WORKLOADS[name]]
    label = f"{name}-{seed}-{divide_by}-{steps}.tau"
    return import_events(RESULTS.out / "traces" / label, workload.events(sizes, seed, steps))

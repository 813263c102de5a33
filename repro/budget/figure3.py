"""The paper's Fig. 3 with numbers [P1-14]: why N_1 cannot simply be the number of objects live at
the peak.

The figure has no numbers; these have its shape. Three sizes, two instants: at t2 memory peaks, at
t1 it does not, and N_1 = P_1(t2) lifts U^B(t1) above U_max, because at t1 other objects live in the
room that the buckets now occupy.
"""

from collections.abc import Sequence
from typing import Any

from repro.budget import table1
from repro.budget.traces import RESULTS, import_events
from repro.budget.workload import Event
from tautochrone.plan.heap import greedy

SIZES_BYTES = (64, 32, 16)
LIVE_AT_T1 = (1, 3, 4)
LIVE_AT_T2 = (3, 1, 2)


def events() -> list[Event]:
    """A program that reaches both instants: t1, then t2."""
    workload: list[Event] = []
    live: list[list[int]] = [[] for _ in SIZES_BYTES]
    name = 0
    for wanted in (LIVE_AT_T1, LIVE_AT_T2, (0, 0, 0)):
        for index in range(
            len(SIZES_BYTES)
        ):  # first the frees, so that no instant is above the two
            while len(live[index]) > wanted[index]:
                workload.append(("free", live[index].pop(), 0))
        for index, size_bytes in enumerate(SIZES_BYTES):
            while len(live[index]) < wanted[index]:
                workload.append(("malloc", name, size_bytes))
                live[index].append(name)
                name += 1
    return workload


def in_use_bytes(counts: Sequence[int], live: Sequence[int]) -> int:
    """U^B of Eq 4 [P1-12]; U of Eq 2 when all counts are 0."""
    triples = zip(SIZES_BYTES, counts, live, strict=True)
    return sum(size * max(count, objects) for size, count, objects in triples)


def in_use(greedy_counts: Sequence[int]) -> dict[str, Any]:
    """U and U^B at both instants for no plan, for N_1 = P_1(t2), and for the greedy's counts."""
    peak_counts = (LIVE_AT_T2[0], 0, 0)
    rows = {"none": (0, 0, 0), "peak": peak_counts, "greedy": tuple(greedy_counts)}
    table = {
        name: {
            "counts": list(counts),
            "t1_bytes": in_use_bytes(counts, LIVE_AT_T1),
            "t2_bytes": in_use_bytes(counts, LIVE_AT_T2),
        }
        for name, counts in rows.items()
    }
    return {
        "sizes_bytes": list(SIZES_BYTES), "limit_bytes": table["none"]["t2_bytes"], "rows": table
    }


def measure() -> dict[str, Any]:
    """With the counts that the greedy finds on its trace."""
    trace = import_events(RESULTS.out / "traces" / "figure3.tau", events())
    return in_use(greedy.budget(table1.instants_of(trace)).counts)

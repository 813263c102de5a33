"""What the stages of the reproduction share: results on disk, and a trace replayed on the systems.

Costs are RV32IMC instructions and accesses to memory of single calls, in a 32-bit layout with pages
of 4 KiB; the paper's are microseconds of its board, so only ratios can be compared [G-1].
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from repro.results import Results
from repro.rtmmu.workloads import HERE, OUT
from tautochrone.replay.paging import page_replay

_RESULTS = Results("rtmmu")
RESULTS = _RESULTS.folder
store, stored = _RESULTS.store, _RESULTS.stored
OURS, CONVENTIONAL, MAPPED_ONLY = "rtvm", "conventional", "conventional-mapped"
SYSTEMS = (OURS, CONVENTIONAL, MAPPED_ONLY)
ISAS = ("rv32", "rv32zbb")
MEASURES = ("instructions", "accesses")
CALLS = ("malloc", "free", "fault")

__all__ = ["HERE", "OUT", "RESULTS", "SYSTEMS", "cost", "replayed", "row_of", "store", "stored"]


def replayed(trace: Path, system: str, isa: str = "rv32") -> Any:
    """A trace replayed in pages. Raises RuntimeError if it does not complete."""
    run = page_replay(trace, system, isa=isa)
    if not run.completed:
        raise RuntimeError(f"{trace} on {system}: {run.cause} at event {run.failed_at_event}")
    return run


def cost(run: Any) -> dict[str, Any]:
    """What a run shows: pages, and the costs of malloc, free and fault."""
    result: dict[str, Any] = {
        name: getattr(run, name)
        for name in ("peak_mapped_pages", "mean_mapped_pages", "faults", "table_bytes")
    }
    for call in CALLS:
        calls = run.calls[call]
        result[call] = {"count": calls.count}
        for measure in MEASURES:
            for part in ("max", "p999", "bound"):
                result[call][f"{part}_{measure}"] = getattr(calls, f"{part}_{measure}")
    return result


def ratio(above: float | None, below: float | None) -> float | None:
    """A quotient; None where one of the two is missing or nothing."""
    return above / below if above and below else None


def ratios(systems: dict[str, Any]) -> dict[str, Any]:
    """What Table I is about: our malloc over theirs, their free and footprint over ours."""
    ours, theirs = systems[OURS], systems[CONVENTIONAL]
    result: dict[str, Any] = {
        "footprint": ratio(theirs["peak_mapped_pages"], ours["peak_mapped_pages"]),
        "mean_footprint": ratio(theirs["mean_mapped_pages"], ours["mean_mapped_pages"]),
    }
    for measure in MEASURES:
        worst = f"max_{measure}"
        result[f"malloc_penalty_{measure}"] = ratio(ours["malloc"][worst], theirs["malloc"][worst])
        result[f"free_gain_{measure}"] = ratio(theirs["free"][worst], ours["free"][worst])
        result[f"free_gain_mapped_only_{measure}"] = ratio(
            systems[MAPPED_ONLY]["free"][worst], ours["free"][worst]
        )
    return result


def row_of(name: str, trace: Path) -> dict[str, Any]:
    """A row of Table I: the trace on all systems, RV32IMC, and Zbb beside it."""
    row: dict[str, Any] = {"program": name}
    for isa in ISAS:
        runs = {system: replayed(trace, system, isa) for system in SYSTEMS}
        systems = {system: cost(run) for system, run in runs.items()}
        row[isa] = {"systems": systems, "ratios": ratios(systems)}
        row["events"] = runs[OURS].events
        row["touches"] = runs[OURS].touches
    return row

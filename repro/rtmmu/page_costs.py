"""A trace replayed on the systems: what its calls cost, and what of it is gained.

Costs are RV32IMC instructions and accesses to memory of single calls, in a 32-bit layout with pages
of 4 KiB; the paper's are microseconds of its board, so only ratios can be compared [G-1].
"""

from pathlib import Path
from typing import Any

from tautochrone.replay.paging import page_replay

OURS, CONVENTIONAL, MAPPED_ONLY = "rtvm", "conventional", "conventional-mapped"
SYSTEMS = (OURS, CONVENTIONAL, MAPPED_ONLY)
ISAS = ("rv32", "rv32zbb")
MEASURES = ("instructions", "accesses")
CALLS = ("malloc", "free", "fault")


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
        for name in ("peak_mapped_pages", "faults")
    }
    for call in CALLS:
        calls = run.calls[call]
        result[call] = {"count": calls.count}
        for measure in MEASURES:
            for part in ("max", "bound"):
                result[call][f"{part}_{measure}"] = getattr(calls, f"{part}_{measure}")
    return result


def ratio(above: float | None, below: float | None) -> float | None:
    """A quotient; None where one of the two is missing or nothing."""
    return above / below if above and below else None


def gains(ours: Any, theirs: Any, unit: str, suffix: str = "") -> dict[str, float | None]:
    """What Table I is about: our largest malloc over theirs, their free and footprint over ours."""
    worst = f"max_{unit}"
    return {
        f"malloc_penalty{suffix}": ratio(ours["malloc"][worst], theirs["malloc"][worst]),
        f"free_gain{suffix}": ratio(theirs["free"][worst], ours["free"][worst]),
        "footprint": ratio(theirs["peak_mapped_pages"], ours["peak_mapped_pages"]),
    }


def ratios(systems: dict[str, Any]) -> dict[str, Any]:
    """The same in both units, and free compared with a system that visits mapped pages only."""
    ours, result = systems[OURS], {}
    for unit in MEASURES:
        worst = f"max_{unit}"
        result |= gains(ours, systems[CONVENTIONAL], unit, f"_{unit}")
        result[f"free_gain_mapped_only_{unit}"] = ratio(
            systems[MAPPED_ONLY]["free"][worst], ours["free"][worst]
        )
    return result


def row_of(name: str, trace: Path) -> dict[str, Any]:
    """A row of Table I: the trace on all systems, RV32IMC and with Zbb."""
    row: dict[str, Any] = {"program": name}
    for isa in ISAS:
        runs = {system: replayed(trace, system, isa) for system in SYSTEMS}
        systems = {system: cost(run) for system, run in runs.items()}
        row[isa] = {"systems": systems, "ratios": ratios(systems)}
        row["events"] = runs[OURS].events
        row["touches"] = runs[OURS].touches
    return row

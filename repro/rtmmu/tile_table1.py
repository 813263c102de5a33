"""Table I in cycles of the simulated tile: largest malloc and free, most pages [P0-38]."""

from pathlib import Path
from typing import Any

from bench.tile import synthetic
from repro.rtmmu import tile_run, workloads
from repro.rtmmu.page_costs import CONVENTIONAL, OURS, gains, ratio
from repro.rtmmu.table1 import PAPER, span, traces, with_paper
from tautochrone.replay.tile.cycle_bounds import tile_bounds
from tautochrone.replay.tile.program import tile_system

RATIOS = ("malloc_penalty", "free_gain", "footprint")
KINDS = ("malloc", "aligned_alloc", "resize", "free", "fault", "load", "store")


def row_of(name: str, trace: Path) -> dict[str, Any]:
    """A trace on both systems."""
    systems: dict[str, Any] = {}
    for system in tile_run.SYSTEMS:
        run = tile_run.replayed(trace, system)
        systems[system] = {**run.facts, **tile_run.compared_with_core(trace, system, run)}
    ours, theirs = systems[OURS], systems[CONVENTIONAL]
    return {
        "program": name,
        "events": ours["events"],
        "touches": ours["touches"],
        "systems": systems,
        "ratios": gains(ours, theirs, "cycles"),
    }


def extremes(rows: dict[str, Any]) -> dict[str, Any]:
    """Over all rows: the least and the most of each ratio."""
    result: dict[str, Any] = {
        kind: span({name: row["ratios"][kind] for name, row in rows.items()}) for kind in RATIOS
    }
    every = [row["systems"][system] for row in rows.values() for system in tile_run.SYSTEMS]
    for system in tile_run.SYSTEMS:
        result[system] = {
            kind: max(row["systems"][system][kind]["max_cycles"] for row in rows.values())
            for kind in KINDS
        }
    rates = [each["cycles_per_instruction"] for each in every]
    result["cycles_per_instruction"] = [min(rates), max(rates)]
    kinds = ("load", "store")
    counted = [pair for each in every for kind in kinds for pair in each[kind]["counted"]]
    result["accesses"] = sum(count for _, count in counted)
    result["access_cycles"] = sorted({cycles for cycles, _ in counted})
    result["agrees"] = all(each["agrees"] for each in every)
    result["cycles"] = sum(each["cycles"] for each in every)
    return result


def bounds(found: dict[str, Any]) -> dict[str, Any]:
    """The bound of each operation next to its maximum; `kept`: none was above."""
    result: dict[str, Any] = {}
    for system, name in tile_run.SYSTEMS.items():
        known = tile_bounds(tile_system(name))
        result[system] = {
            kind: {
                "bound_cycles": known[kind],
                "max_cycles": found[system][kind],
                "over": ratio(known[kind], found[system][kind]),
            }
            for kind in KINDS
            if found[system][kind]
        }
    bounded = [
        each
        for system in tile_run.SYSTEMS
        for each in result[system].values()
        if each["bound_cycles"] is not None
    ]
    result["kept"] = all(each["max_cycles"] <= each["bound_cycles"] for each in bounded)
    result["over_max"] = max(each["over"] for each in bounded)
    return result


def paper_pages(row: str) -> float:
    """The pages that the paper's largest conventional free returned, if a page cost as much as on
    the synthetic trace, which returned nearly all of its pages at once."""
    _, _, _, _, free, pages = PAPER["Synthetic"]
    return PAPER[row][4] / (free / pages)


def implied_mhz(row: dict[str, Any]) -> dict[str, float]:
    """The clock with which our cycles would take the paper's microseconds."""
    malloc, free, *_ = row["paper_values"]
    ours = row["systems"][OURS]
    return {
        "malloc": ours["malloc"]["max_cycles"] / malloc, "free": ours["free"]["max_cycles"] / free
    }


def measure(is_quick: bool = False) -> dict[str, Any]:
    """One row per trace, next to the paper's microseconds."""
    programs = workloads.programs()
    actions, names = (2_000, ("mc",)) if is_quick else (synthetic.ACTIONS, programs)
    recorded = traces(names, actions, is_quick, is_kept=not is_quick)
    rows = {
        name: with_paper(row_of(name, trace), paper) for name, (paper, _, trace) in recorded.items()
    }
    found = extremes(rows)
    ours = [row["systems"][OURS] for row in rows.values()]
    frees = [each["free"]["max_cycles"] for each in ours if each["free"]["count"]]
    return {
        "rows": rows,
        "extremes": found,
        "bounds": bounds(found),
        "free_span": [min(frees), max(frees)],
        "free_spread": max(frees) / min(frees),
        "paper_php_pages": round(paper_pages("PHP (neural net)"), -3),
        "implied_mhz": implied_mhz(rows["synthetic"]),
        "heap_pages": tile_run.HEAP_PAGES,
        "missing": [] if is_quick else sorted(programs.keys() - rows.keys()),
    }


def quick() -> dict[str, Any]:
    """With small inputs."""
    return measure(is_quick=True)

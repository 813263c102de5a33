"""Table I in cycles of the simulated tile: largest malloc and free, most pages [P0-38]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.tile import synthetic
from repro.rtmmu import table1, tile_run, workloads
from repro.rtmmu.measure import CONVENTIONAL, OURS, OUT, ratio
from tautochrone.console.output import note
from tautochrone.errors import TauError
from tautochrone.replay.tile.cycle_bounds import tile_bounds
from tautochrone.replay.tile.program import tile_system

RATIOS = ("malloc_penalty", "free_gain", "footprint", "fault_penalty")
KINDS = ("malloc", "aligned_alloc", "resize", "free", "fault", "load", "store")


def ratios(systems: dict[str, Any]) -> dict[str, float | None]:
    """Our malloc and fault over theirs, their free and footprint over ours."""
    ours, theirs = systems[OURS], systems[CONVENTIONAL]

    def above(kind: str, first: dict[str, Any], second: dict[str, Any]) -> float | None:
        return ratio(first[kind]["max_cycles"], second[kind]["max_cycles"])

    return {
        "malloc_penalty": above("malloc", ours, theirs),
        "free_gain": above("free", theirs, ours),
        "fault_penalty": above("fault", ours, theirs),
        "footprint": ratio(theirs["peak_mapped_pages"], ours["peak_mapped_pages"]),
        "mean_footprint": ratio(theirs["mean_mapped_pages"], ours["mean_mapped_pages"]),
    }


def row_of(name: str, trace: Path) -> dict[str, Any]:
    """A trace on both systems."""
    systems = {}
    for system in tile_run.SYSTEMS:
        run = tile_run.replayed(trace, system)
        systems[system] = {**run.facts, **tile_run.beside(trace, system, run)}
    return {
        "program": name,
        "events": systems[OURS]["events"],
        "touches": systems[OURS]["touches"],
        "systems": systems,
        "ratios": ratios(systems),
    }


def traces(quick: bool, out: Path) -> dict[str, tuple[str, Path]]:
    """Each trace's row in the paper and its file: as the stage table1 left it, else recorded."""
    actions = 2_000 if quick else synthetic.ACTIONS
    found = {"synthetic": ("Synthetic", table1.synthetic_trace(actions=actions))}
    chosen = workloads.programs(quick)
    for name in ("mc",) if quick else chosen:
        program, trace = chosen[name], workloads.trace_path(name, out)
        try:
            kept = trace if trace.exists() and not quick else workloads.record(name, program, out)
        except TauError as error:
            note(f"left out: {name}: {error.message} ({error.next_step or '-'})")
            continue
        found[name] = (program.paper, kept)
    return found


def extremes(rows: dict[str, Any]) -> dict[str, Any]:
    """Over all rows: the least and the most of each ratio."""
    result: dict[str, Any] = {}
    for kind in RATIOS:
        values = {name: row["ratios"][kind] for name, row in rows.items()}
        known = {name: value for name, value in values.items() if value is not None}
        if known:
            least, most = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
            result[kind] = {
                "min": known[least],
                "min_program": least,
                "max": known[most],
                "max_program": most,
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
    """The bound of each operation beside the most that was seen; `kept`: none was above."""
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
    """The pages that the paper's largest conventional free gave back, if each took what it took on
    the synthetic trace, whose pages were about all given back at once."""
    _, _, _, _, free, pages = table1.PAPER["Synthetic"]
    return table1.PAPER[row][4] / (free / pages)


def implied_mhz(row: dict[str, Any]) -> dict[str, float]:
    """The clock with which our cycles would take the paper's microseconds."""
    malloc, free, *_ = row["paper_values"]
    ours = row["systems"][OURS]
    return {
        "malloc": ours["malloc"]["max_cycles"] / malloc,
        "free": ours["free"]["max_cycles"] / free,
    }


def measure(quick: bool = False, out: Path = OUT) -> dict[str, Any]:
    """One row a trace, beside the paper's microseconds."""
    rows = {}
    for name, (paper, trace) in traces(quick, out).items():
        row = {**row_of(name, trace), "paper": paper}
        if paper:
            row["paper_values"] = table1.PAPER[paper]
            row["paper_ratios"] = table1.paper_ratios(paper)
        rows[name] = row
    missing = sorted(set(workloads.programs()) - set(rows)) if not quick else []
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
        "missing": missing,
    }

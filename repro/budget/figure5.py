"""The paper's Fig. 5 [P1-23]: how much memory each allocator needs for the five workloads, over ten
seeds.

Two tables, because allocators are to be had for different machines. The first is the layout of a
32-bit machine, as in the paper: ours, Kingsley and the static allocator placed byte for byte as on
the target, Lea's allocator run as RV32IMC code. The second is this machine's own 64-bit layout,
where the system's allocators live too. R_max of an allocator over a fixed arena is the smallest
arena that completes the workload. If the arena grows, R_max is its size at the end.

The plan of each workload comes from its own recording, as in the paper; `budget (seed 0's plan)`
keeps one plan for all seeds. `bands` are pools for bands of sizes at the recorded limits: they and
the static allocator alone hold every order of calls within these limits.
"""

import functools
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

from bench.allocators import peers
from bench.allocators.images import PeerMissing
from repro.budget import workload
from bench.allocators.ours import bands_of, safe_heap, plan_of
from repro.budget.traces import trace_of
from tautochrone.console.output import note

Measure = Callable[[str, int, Path], int]


def budgeted(planner: str, layout: str, plan_seed: int | None = None) -> Measure:
    """The budgeted heap with a plan of this planner, from the workload's own seed or from
    PLAN_SEED.
    """

    def measure_one(name: str, seed: int, trace: Path) -> int:
        planned = trace if plan_seed is None else trace_of(name, plan_seed)
        plan = plan_of(planned, planner, layout)
        return safe_heap(trace, "budget", plan, layout)

    return measure_one


def plain(system: str, layout: str) -> Measure:
    """A system of the replayer."""
    return lambda name, seed, trace: safe_heap(trace, system, None, layout)


def bands(layout: str) -> Measure:
    """Pools for bands of sizes, which cannot fail within the recorded limits."""
    return lambda name, seed, trace: safe_heap(trace, "pools", bands_of(trace, layout), layout)


def peer(name_of_peer: str, isa: str) -> Measure:
    """A peer from a package: `isa` rv32 or m4 in the emulator, host as a library of this machine.
    """
    return lambda name, seed, trace: peers.safe_heap(name_of_peer, isa, trace)


SYSTEMS_32: dict[str, Measure] = {
    "budget (replayed)": budgeted("replayed", "32"),
    "budget (greedy)": budgeted("greedy", "32"),
    "budget (seed 0's plan)": budgeted("replayed", "32", 0),
    "bands": bands("32"),
    "tlsf": plain("tlsf", "32"),
    "static": plain("static", "32"),
    "kingsley": plain("kingsley", "32"),
    "lea, same arena": peer("dlmalloc", "rv32"),
    "lea, 64 KiB steps": peer("dlmalloc_growing", "rv32"),
    "lea of newlib, 4 KiB steps": peer("newlib", "m4"),
}
SYSTEMS_HOST: dict[str, Measure] = {
    "budget (replayed)": budgeted("replayed", "host"),
    "budget (greedy)": budgeted("greedy", "host"),
    "bands": bands("host"),
    "tlsf": plain("tlsf", "host"),
    "lea, same arena": peer("dlmalloc", "host"),
    "lea, 64 KiB steps": peer("dlmalloc_growing", "host"),
    "glibc": plain("glibc", "host"),
    "mimalloc": plain("mimalloc", "host"),
    "jemalloc": plain("jemalloc", "host"),
}


LAYOUTS = {"32": SYSTEMS_32, "host": SYSTEMS_HOST}
PROCESSES = 2


def measure_seed(layout: str, name: str, seed: int) -> dict[str, int | str]:
    """R_max of every system on one workload and seed; the cause instead for one that cannot run."""
    trace = trace_of(name, seed)
    row: dict[str, int | str] = {}
    for system, measure_one in LAYOUTS[layout].items():
        try:
            row[system] = measure_one(name, seed, trace)
        except PeerMissing as cause:
            row[system] = cause.message
    return row


def measure_table(layout: str, seeds: tuple[int, ...]) -> dict[str, Any]:
    """R_max in bytes: workload -> system -> one number per seed; missing systems with the cause."""
    table: dict[str, dict[str, list[int]]] = {}
    missing: dict[str, str] = {}
    measure_seed(layout, "W2", seeds[0])  # builds images before there are two processes
    with ProcessPoolExecutor(PROCESSES) as pool:
        for name in workload.WORKLOADS:
            note(f"figure 5: {name}, layout {layout}")
            rows = list(pool.map(functools.partial(measure_seed, layout, name), seeds))
            missing |= {s: value for s, value in rows[0].items() if isinstance(value, str)}
            table[name] = {s: [int(row[s]) for row in rows] for s in rows[0] if s not in missing}
    return {"bytes": table, "missing": missing}


def summarize(
    table: dict[str, dict[str, list[int]]], peaks: dict[str, list[int]]
) -> dict[str, Any]:
    """Means over the seeds: over the budget's R_max (the paper's axis) and over the peak live
    bytes.
    """
    relative: dict[str, dict[str, float]] = {}
    over_peak: dict[str, dict[str, float]] = {}
    for name, systems in table.items():
        base = systems["budget (replayed)"]
        relative[name] = {
            system: mean(value / own for value, own in zip(values, base, strict=True))
            for system, values in systems.items()
        }
        over_peak[name] = {
            system: mean(value / peak for value, peak in zip(values, peaks[name], strict=True))
            for system, values in systems.items()
        }
    return {"over_budget": relative, "over_peak": over_peak}


def saving(table: dict[str, dict[str, list[int]]], ours: str, theirs: str) -> dict[str, float]:
    """Mean of 1 - ours / theirs a workload, in percent [P1-23]; empty if theirs was not to be had.
    """
    return {
        name: round(
            100 * mean(1 - a / b for a, b in zip(systems[ours], systems[theirs], strict=True)), 2
        )
        for name, systems in table.items()
    }


def measured(layout: str, seeds: tuple[int, ...]) -> dict[str, Any]:
    """One layout's table, its summaries and the savings against every other allocator."""
    peaks = {
        name: [workload.peak_live_bytes(sizes, seed) for seed in seeds]
        for name, sizes in workload.WORKLOADS.items()
    }
    found = measure_table(layout, seeds)
    table = found["bytes"]
    savings = {
        theirs: saving(table, "budget (replayed)", theirs)
        for theirs in LAYOUTS[layout]
        if not theirs.startswith("budget") and theirs not in found["missing"]
    }
    return {
        "seeds": list(seeds),
        "peak_live_bytes": peaks,
        **found,
        **summarize(table, peaks),
        "saving_percent": savings,
        "saving_range": {name: [min(s.values()), max(s.values())] for name, s in savings.items()},
        "seed_0_over_peak": {
            name: table[name]["budget (replayed)"][0] / peaks[name][0] for name in table
        },
        **full_peak(table, peaks, seeds),
        "wins": {one: wins(table, one) for one in ("static", "bands") if one in LAYOUTS[layout]},
    }


def wins(table: dict[str, dict[str, list[int]]], system: str) -> dict[str, int]:
    """In how many runs a system needs less than the budget."""
    pairs = [
        (theirs, budget)
        for systems in table.values()
        for theirs, budget in zip(systems[system], systems["budget (replayed)"], strict=True)
    ]
    return {"wins": sum(theirs < budget for theirs, budget in pairs), "runs": len(pairs)}


def full_peak(
    table: dict[str, dict[str, list[int]]], peaks: dict[str, list[int]], seeds: tuple[int, ...]
) -> dict[str, Any]:
    """The first seed in which all sizes peak at once in every workload, and both planners there.

    Only there can the heap be the dedicated regions and nothing else. Empty if no seed does it.
    """
    full = {name: sum(sizes) * workload.LIVE_MAX for name, sizes in workload.WORKLOADS.items()}
    for index, seed in enumerate(seeds):
        if all(peaks[name][index] == full[name] for name in full):
            ratios = {
                planner: {
                    name: table[name][f"budget ({planner})"][index] / full[name] for name in full
                }
                for planner in ("replayed", "greedy")
            }
            return {"full_peak_seed": seed, "full_peak_over_peak": ratios}
    return {}


def measure() -> dict[str, Any]:
    """The paper's figure: the layout of a 32-bit machine, ten seeds."""
    return measured("32", workload.SEEDS)

"""The mechanisms on the simulated tile: what an access costs, and giving a region back [P0-29].

An access is measured in each arrangement of the tables. In the parallel one the validity array is
twice as fast as the page table, in the pipelined one all are equally fast. A third form has a TLB
of regions in front of the parallel one [P0-30]. Unmapping goes over all sizes and 256 placements,
as `make bench B=tile` does.
"""

from typing import Any

from bench.tile import run as bench
from repro.rtmmu import tile_run
from repro.rtmmu.page_costs import OURS
from repro.rtmmu.table1 import synthetic_trace
from tautochrone.replay.tile.cycle_bounds import tile_bounds
from tautochrone.replay.tile.program import tile_system

ACTIONS = 20_000
SEED = 64
ARRANGEMENTS = {"parallel": "", "pipelined": ":pipelined"}
WITH_TLB = "tile:rtmmu-tlb"
KINDS = ("malloc", "free", "fault", "load", "store")
SIZES = tuple(1 << power for power in range(17))
PLACEMENTS = 256


def arrangement(suffix: str, actions: int) -> dict[str, Any]:
    """The largest cycles of each operation on both systems, and ours over theirs."""
    trace = synthetic_trace(SEED, actions)
    found: dict[str, Any] = {}
    for system, name in tile_run.SYSTEMS.items():
        facts = tile_run.replayed(trace, system, name + suffix).facts
        found[system] = {kind: facts[kind] for kind in KINDS}
    ours, theirs = found.values()
    for kind in KINDS:
        found[f"{kind}_ratio"] = ours[kind]["max_cycles"] / theirs[kind]["max_cycles"]
        found[f"{kind}_more"] = ours[kind]["max_cycles"] - theirs[kind]["max_cycles"]
    return found


def with_tlb(actions: int) -> dict[str, Any]:
    """Ours with the TLB: the same operations, and the share of accesses that hit."""
    facts = tile_run.replayed(synthetic_trace(SEED, actions), OURS, WITH_TLB).facts
    counted = facts["load"]["counted"] + facts["store"]["counted"]
    least = min(cycles for cycles, _ in counted)
    hits = sum(count for cycles, count in counted if cycles == least)
    return {
        **{kind: facts[kind] for kind in KINDS},
        "hit_cycles": least,
        "miss_cycles": max(cycles for cycles, _ in counted),
        "hit_share": hits / sum(count for _, count in counted),
    }


def unmap(sizes: tuple[int, ...], placements: int) -> dict[str, Any]:
    """The most cycles of giving back a region of each size on both systems."""
    result: dict[str, Any] = {}
    for system, name in tile_run.SYSTEMS.items():
        rows = bench.unmap_rows(name, sizes, placements)
        cycles = [row["cycles"] for row in rows]
        result[system] = {
            "rows": [{"pages": row["pages"], "cycles": row["cycles"]} for row in rows],
            "pages": [min(sizes), max(sizes)],
            "cycles": [min(cycles), max(cycles)],
            "flat": max(cycles) / min(cycles),
            "placements": max(row["placements"] for row in rows),
            "bound_cycles": tile_bounds(tile_system(name))["unmap"],
        }
    return result


def measure(
    actions: int = ACTIONS, sizes: tuple[int, ...] = SIZES, placements: int = PLACEMENTS
) -> dict[str, Any]:
    """Accesses in both arrangements, and unmapping."""
    return {
        "actions": actions,
        "access": {name: arrangement(word, actions) for name, word in ARRANGEMENTS.items()},
        "tlb": with_tlb(actions),
        "unmap": unmap(sizes, placements),
    }

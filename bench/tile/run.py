"""Cycles on the tile: returning a region of each size, and the synthetic workload.

Writes out/bench/tile.json: {"unmap": [{system, pages, cycles, placements, all_mapped}],
"synthetic": [{system, actions, peak_mapped_pages, operations: {…: {count, max_cycles,
p999_cycles, mean_cycles}}}], "speed": [{simulator, tiles, tile_cycles_per_cpu_second,
ratio_to_plain}]}. Complains if our unmap is not flat (1.05), our slowest malloc takes
over 1.25 times the conventional one, or a load or store that hits takes longer than with a page
table.

bench/unmap has the same placements: first the ones with the longest path through the region tree.
Mapping is what takes the time, so up to PAGES_MAPPED_MAX pages are mapped in each placement and all
pages of a region in the last ones (`all_mapped` of them). --quick takes few of everything.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.runner import Bench
from bench.tile import synthetic
from bench.tile.speed import speed_rows
from tautochrone.console.output import note
from tautochrone.facts import replay_format as form
from tautochrone.replay import entry
from tautochrone.replay.systems import tile as tile_systems
from tautochrone.replay.tile import TileAccesses, TileCalls, region_cycles, tile_replay
from testing.table_cost import placements

OURS = tuple(each.name for each in tile_systems.SYSTEMS if each.role == entry.OURS)
THEIRS = tuple(each.name for each in tile_systems.SYSTEMS if each.role == entry.CONVENTIONAL)
SYSTEMS = (*OURS, *THEIRS)
BASELINE = "tile:pagetable"
PAGES_LOG2, SIZES_LOG2 = 18, 17
SIZES_QUICK = (1, 2, 33, 512)
PLACEMENTS, PLACEMENTS_QUICK = 256, 96
PLACEMENTS_LINEAR = 2  # the cost is the same wherever a region lies
PAGES_MAPPED_MAX = 64
ALL_MAPPED = 2
ACTIONS, ACTIONS_QUICK = (1_000, 10_000, 100_000), (1_000,)
FLAT_MAX, MALLOC_RATIO_MAX = 1.05, 1.25


def unmap_rows(system: str, sizes: tuple[int, ...], count: int) -> list[dict[str, Any]]:
    """The most cycles of unmapping a region of each size, wherever it lies."""
    regions: list[tuple[int, int, int, int]] = []
    ends, is_linear = [0], system in THEIRS
    for pages in sizes:
        places = placements(pages, PAGES_LOG2, count, seed=pages)[:count]
        places = places[:PLACEMENTS_LINEAR] if is_linear else places
        for number, (start, before, behind) in enumerate(places):
            is_whole = len(places) - number <= ALL_MAPPED
            mapped = pages if is_whole else min(pages, PAGES_MAPPED_MAX)
            flags = form.FLAG_BEFORE * before + form.FLAG_BEHIND * behind
            flags = 0 if is_linear else flags
            regions.append((start, pages, mapped, flags))
        ends.append(len(regions))
    cycles = region_cycles(system, np.array(regions), max(*sizes, PAGES_MAPPED_MAX))["unmap"]
    return [
        {
            "system": system,
            "pages": pages,
            "cycles": int(cycles[begin:end].max()),
            "placements": end - begin,
            "all_mapped": ALL_MAPPED,
        }
        for pages, begin, end in zip(sizes, ends[:-1], ends[1:], strict=True)
    ]


def synthetic_row(system: str, actions: int) -> dict[str, Any]:
    """The paper's synthetic workload [P0-35] with so many actions, at the paper's sizes."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "synthetic.tau"
        synthetic.write(trace, synthetic.SEED, synthetic.events(synthetic.SEED, actions))
        done = tile_replay(trace, system)
    return {
        "system": system,
        "actions": actions,
        "completed": done.completed,
        "cycles": done.cycles,
        "peak_mapped_pages": done.peak_mapped_pages,
        "operations": {
            kind: {
                "count": each.count,
                "max_cycles": each.max_cycles,
                "p999_cycles": each.p999_cycles,
                "mean_cycles": round(mean_cycles(each), 3),
            }
            for kind, each in {**done.calls, **done.accesses}.items()
            if each.count
        },
    }


def mean_cycles(each: TileCalls | TileAccesses) -> float:
    """The mean cycles of all calls, or of all accesses."""
    if isinstance(each, TileAccesses):
        return float((each.cycles.astype(float) * each.counts).sum() / each.count)
    return float(each.cycles.mean())


def complaints(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Limits that are broken."""
    wrong = []
    for system in OURS:
        cycles = [row["cycles"] for row in found["unmap"] if row["system"] == system]
        if cycles and max(cycles) > FLAT_MAX * min(cycles):
            wrong.append(f"{system}: unmap varies by {max(cycles) / min(cycles):.3f}")
    rows = {(row["system"], row["actions"]): row["operations"] for row in found["synthetic"]}
    for (system, actions), ours in rows.items():
        theirs = rows.get((BASELINE, actions))
        if system not in OURS or theirs is None:
            continue
        told = f"{system}, {actions} actions"
        ratio = ours["malloc"]["max_cycles"] / theirs["malloc"]["max_cycles"]
        if ratio > MALLOC_RATIO_MAX:
            wrong.append(f"{told}: the slowest malloc takes {ratio:.3f} times as long")
        for kind in ("load", "store"):
            if ours[kind]["max_cycles"] > theirs[kind]["max_cycles"]:
                wrong.append(f"{told}: a {kind} takes {ours[kind]['max_cycles']} cycles")
    return wrong


def measure(quick: bool) -> dict[str, list[dict[str, Any]]]:
    """All rows."""
    sizes = SIZES_QUICK if quick else tuple(1 << power for power in range(SIZES_LOG2))
    count = PLACEMENTS_QUICK if quick else PLACEMENTS
    found: dict[str, list[dict[str, Any]]] = {"unmap": [], "synthetic": [], "speed": []}
    for system in SYSTEMS:
        note(f"tile: {system} …")
        found["unmap"] += unmap_rows(system, sizes, count)
    for actions in ACTIONS_QUICK if quick else ACTIONS:
        found["synthetic"] += [synthetic_row(system, actions) for system in SYSTEMS]
    found["speed"] = [] if quick else speed_rows()
    return found


BENCH = Bench("tile", lambda given: measure(given.quick), complaints=complaints)

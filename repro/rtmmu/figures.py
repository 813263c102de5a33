"""Figures 5, 6 and 7: each call of the synthetic workload, by the kind of its work.

The kind does not come from the cost, but from page_model.py, which counts by the rule. A band is
explained if calls of one kind cost what no other kind costs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.result_file import write_result
from bench.tile import synthetic
from repro.rtmmu import page_model
from repro.rtmmu.page_costs import CONVENTIONAL, MEASURES, OURS, SYSTEMS, replayed
from repro.rtmmu.page_model import PAGE_BYTES, Pages, count
from repro.rtmmu.table1 import QUICK_ACTIONS, synthetic_trace
from repro.rtmmu.workloads import RESULTS

MALLOC_KINDS = ("split, page mapped", "split, nothing mapped", "not split")
FREE_KINDS = ("inside the heap", "last, used before it", "last, free before it")
CURVE_POINTS = 1000
COLUMNS = 400  # sizes are drawn in so many columns
ARC_PAGES_MIN = 40_000  # an arc of Fig. 7b: at least this high, then below a tenth of it


def summary(values: np.ndarray) -> dict[str, Any]:
    """How many, least, median and largest."""
    if not len(values):
        return {"count": 0}
    return {
        "count": len(values),
        "min": int(values.min()),
        "median": int(np.percentile(values, 50, method="nearest")),
        "max": int(values.max()),
    }


def cells(sizes: np.ndarray, costs: np.ndarray, kinds: np.ndarray, columns: int) -> list[list[int]]:
    """The points that can be seen: one for each column of sizes, cost and kind."""
    width = max(int(sizes.max()) // columns, 1)
    seen = np.stack([sizes // width * width, costs, kinds], axis=1)
    return np.unique(seen, axis=0).astype(int).tolist()


def figure5(runs: dict[str, Any], pages: Pages, measures: Sequence[str]) -> dict[str, Any]:
    """Costs of malloc against the size, in three bands [P0-39]. The first measure tells apart."""
    kinds_of = {
        OURS: np.array(pages.malloc_kinds), CONVENTIONAL: np.array(pages.conventional_malloc_kinds)
    }
    result: dict[str, Any] = {}
    for system, kinds in kinds_of.items():
        calls = runs[system].calls["malloc"]
        result[system] = {
            measure: {
                name: summary(getattr(calls, measure)[kinds == kind])
                for kind, name in enumerate(MALLOC_KINDS)
            }
            for measure in measures
        }
        result[system]["median_size_bytes"] = {
            name: float(np.median(calls.size_bytes[kinds == kind])) if (kinds == kind).any() else 0
            for kind, name in enumerate(MALLOC_KINDS)
        }
        result[system]["apart"] = apart(getattr(calls, measures[0]), kinds)
    return result


def apart(costs: np.ndarray, kinds: np.ndarray) -> float:
    """The share of calls whose kind the cost alone tells: each cost stands for its commonest."""
    told = 0
    for value in np.unique(costs):
        told += int(np.bincount(kinds[costs == value]).max())
    return told / len(costs)


def line_of(x: np.ndarray, y: np.ndarray, measure: str) -> dict[str, float]:
    """The straight line of least squares and how much of y it explains."""
    slope, start = np.polyfit(x, y, 1)
    rest = y - (slope * x + start)
    return {
        f"{measure}_per_page": float(slope),
        "start": float(start),
        "explained": float(1 - rest.var() / y.var()) if y.var() else 1.0,
    }


def figure6(runs: dict[str, Any], pages: Pages, measure: str) -> dict[str, Any]:
    """Costs of free against the size [P0-40]."""
    kinds = np.array(pages.free_kinds)
    returned = np.array(pages.returned_pages)
    ours, theirs = (runs[system].calls["free"] for system in (OURS, CONVENTIONAL))
    our_costs, costs = getattr(ours, measure), getattr(theirs, measure)
    sizes_pages = theirs.size_bytes / PAGE_BYTES
    band = kinds == page_model.LAST
    extreme = int(costs.argmax())
    line = line_of(sizes_pages[band], costs[band], measure)
    expected = line[f"{measure}_per_page"] * sizes_pages[extreme] + line["start"]
    return {
        OURS: summary(our_costs),
        CONVENTIONAL: {name: summary(costs[kinds == kind]) for kind, name in enumerate(FREE_KINDS)},
        "band": line,
        "cost_by_returned_pages": line_of(returned[kinds != 0], costs[kinds != 0], measure),
        "extreme": {
            "event": int(theirs.event[extreme]),
            "size_bytes": int(theirs.size_bytes[extreme]),
            "size_percentile": float(100 * (theirs.size_bytes < theirs.size_bytes[extreme]).mean()),
            measure: int(costs[extreme]),
            "returned_pages": int(returned[extreme]),
            "kind": FREE_KINDS[kinds[extreme]],
            "over_the_band": float(costs[extreme] / expected),
        },
    }


def arcs(curve: np.ndarray) -> list[int]:
    """The heights of the arcs: rises to ARC_PAGES_MIN and more that end below a tenth of it."""
    heights, height = [], 0
    for pages in curve.tolist():
        height = max(height, pages)
        if height >= ARC_PAGES_MIN and pages < height / 10:
            heights.append(height)
            height = 0
    return [*heights, height] if height >= ARC_PAGES_MIN else heights


def figure7(runs: dict[str, Any], pages: Pages, seed: int) -> dict[str, Any]:
    """Mapped pages over time [P0-41]."""
    curves = {OURS: np.array(pages.ours), CONVENTIONAL: np.array(pages.conventional)}
    drops = -np.diff(curves[CONVENTIONAL])
    highest = int(drops.argmax())
    result: dict[str, Any] = {"seed": seed, "size_max_bytes": synthetic.SIZE_MAX_BYTES}
    for system, curve in curves.items():
        result[system] = {
            "peak_pages": int(curve.max()),
            "mean_pages": float(curve.mean()),
            "model_agrees": int(curve.max()) == runs[system].peak_mapped_pages,
        }
    for system in runs.keys() - curves.keys():
        result[system] = {"peak_pages": runs[system].peak_mapped_pages}
    return {
        **result,
        "peak_live_objects": max(pages.live),
        "arcs": arcs(curves[CONVENTIONAL]),
        "highest_drop": {
            "pages": int(drops[highest]),
            "event": highest + 1,
            "from_pages": int(curves[CONVENTIONAL][highest]),
            "to_pages": int(curves[CONVENTIONAL][highest + 1]),
        },
    }


def curve_points(curve: Any, points: int = CURVE_POINTS) -> list[list[int]]:
    """(event, least, most) of a replay's curve in at most POINTS bins."""
    step = max(-(-len(curve.event) // points), 1)
    bins = [slice(start, start + step) for start in range(0, len(curve.event), step)]
    return [
        [int(curve.event[part][0]), int(curve.low[part].min()), int(curve.high[part].max())]
        for part in bins
    ]


def points(runs: dict[str, Any], pages: Pages, measure: str) -> dict[str, Any]:
    """What the figures draw; not kept in the repository."""
    malloc_kinds = {OURS: pages.malloc_kinds, CONVENTIONAL: pages.conventional_malloc_kinds}
    result: dict[str, Any] = {}
    for system in (OURS, CONVENTIONAL):
        malloc, free = runs[system].calls["malloc"], runs[system].calls["free"]
        mallocs, frees = getattr(malloc, measure), getattr(free, measure)
        kinds = np.array(malloc_kinds[system])
        result[system] = {
            "malloc": cells(malloc.size_bytes, mallocs, kinds, COLUMNS),
            "free": cells(free.size_bytes, frees, np.array(pages.free_kinds), COLUMNS),
            "pages": curve_points(runs[system].mapped_pages),
        }
    return result


def all_three(
    runs: dict[str, Any], seed: int, actions: int, measures: Sequence[str], heap_pages: int
) -> dict[str, Any]:
    """All three figures of runs of the workload. Their points are left in out/."""
    pages = count(synthetic.first_touches(synthetic.events(seed, actions)), heap_pages)
    drawn = points(runs, pages, measures[0])
    write_result(RESULTS.out / f"points_{measures[0]}.json", drawn)
    return {
        "figure5": figure5(runs, pages, measures),
        "figure6": figure6(runs, pages, measures[0]),
        "figure7": figure7(runs, pages, seed),
    }


def measure(seed: int = synthetic.SEED, actions: int = synthetic.ACTIONS) -> dict[str, Any]:
    """In instructions and accesses, from one replay of the workload on each system."""
    trace = synthetic_trace(seed, actions)
    runs = {system: replayed(trace, system) for system in SYSTEMS}
    return all_three(runs, seed, actions, MEASURES, page_model.HEAP_PAGES)


def quick() -> dict[str, Any]:
    """With small inputs."""
    return measure(actions=QUICK_ACTIONS)

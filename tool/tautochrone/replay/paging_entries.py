"""Systems on pages as `tau replay --json` lists them: an entry a system, made of two replays.

The first replay runs RV32IMC code, the second the same core built with Zbb, whose numbers stand
beside the others with the ending `_zbb`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tautochrone.replay.paging import MappedPages, PageCalls, PageReplay, page_replay
from tautochrone.replay.tile.tile import TileReplay

POINTS_MAX = 400  # of a scatter
BINS_MAX = 512  # of mapped pages over time
SIZES_PER_OCTAVE = 16
ALWAYS_SHOWN = ("malloc", "free", "fault")
LINEAR = "linear"


def page_entry(
    trace_path: str | Path,
    name: str,
    frames: int | None = None,
    heap_bytes: int | None = None,
    check_level: int = 0,
    skip_misuse: bool = False,
    touch_all: bool = False,
) -> tuple[dict[str, Any], PageReplay]:
    """Replay on a system on pages; its entry of "systems", and the replay. As page_replay."""
    settings = (frames, heap_bytes, check_level, skip_misuse, touch_all)
    done = page_replay(trace_path, name, "rv32", *settings)
    with_zbb = page_replay(trace_path, name, "rv32zbb", *settings)
    entry = {
        **pages_of(done, touch_all),
        "table_bytes": done.table_bytes,
        "operations": {
            kind: _operation(calls, with_zbb.calls[kind])
            for kind, calls in done.calls.items()
            if calls.count or kind in ALWAYS_SHOWN
        },
    }
    return entry, done


def pages_of(done: PageReplay | TileReplay, touch_all: bool) -> dict[str, Any]:
    """What a system's entry says of its pages, whether it ran in software or on the tile."""
    curve = coarser(done.mapped_pages)
    ratio = done.footprint_bytes / done.peak_live_bytes if done.peak_live_bytes else None
    return {
        "name": done.system,
        "completed": done.completed,
        "footprint_bytes": done.footprint_bytes,
        "footprint_ratio": ratio,
        "failed_at_event": done.failed_at_event,
        "cause": done.cause,
        "peak_mapped_pages": done.peak_mapped_pages,
        "mean_mapped_pages": round(done.mean_mapped_pages, 3),
        "end_mapped_pages": done.end_mapped_pages,
        "faults": done.faults,
        "touches": done.touches,
        "touch": "all" if touch_all else "recorded",
        "frames": done.frames_count,
        "mapped_pages": {
            "event": curve.event.tolist(),
            "min": curve.low.tolist(),
            "max": curve.high.tolist(),
        },
    }


def coarser(curve: MappedPages) -> MappedPages:
    """The same curve in at most BINS_MAX bins, which keep every maximum and minimum."""
    together = -(-len(curve.event) // BINS_MAX)
    if together <= 1:
        return curve
    starts = np.arange(0, len(curve.event), together)
    return MappedPages(
        curve.event[starts],
        np.minimum.reduceat(curve.low, starts),
        np.maximum.reduceat(curve.high, starts),
    )


def _operation(calls: PageCalls, with_zbb: PageCalls) -> dict[str, Any]:
    """Calls of one operation: counts, bounds, and a scatter of cost over size."""
    entry: dict[str, Any] = {"count": calls.count}
    for suffix, counted in (("", calls), ("_zbb", with_zbb)):
        for unit in ("instructions", "accesses"):
            entry[f"max_{unit}{suffix}"] = getattr(counted, f"max_{unit}")
            entry[f"p999_{unit}{suffix}"] = getattr(counted, f"p999_{unit}")
            entry[f"bound_{unit}{suffix}"] = getattr(counted, f"bound_{unit}")
    entry["grows"] = LINEAR if calls.bound_instructions is None else None
    if calls.count:
        entry["mean_instructions"] = round(float(calls.instructions.mean()), 2)
        sizes, instructions = thinned(calls.size_bytes, calls.instructions)
        entry["by_size"] = {"size_bytes": sizes.tolist(), "instructions": instructions.tolist()}
    return entry


def thinned(
    sizes: np.ndarray, costs: np.ndarray, points_max: int = POINTS_MAX
) -> tuple[np.ndarray, np.ndarray]:
    """Points that look like all of them: one for each size step and cost, every maximum kept.

    Sizes are put together by 16 steps an octave; of each step the largest cost stays, at the size
    that it was seen with, and of the others as many as `points_max` allows, evenly chosen.
    """
    steps = np.floor(np.log2(np.maximum(sizes, 1).astype(np.float64)) * SIZES_PER_OCTAVE)
    order = np.lexsort((costs, steps))
    steps, sizes, costs = steps[order], sizes[order], costs[order]
    is_last = np.append((steps[1:] != steps[:-1]) | (costs[1:] != costs[:-1]), True)
    is_largest = np.append(steps[1:] != steps[:-1], True)[is_last]
    sizes, costs = sizes[is_last], costs[is_last]
    others = np.flatnonzero(~is_largest)
    left = max(points_max - int(is_largest.sum()), 0)
    if len(others) > left:
        others = others[np.linspace(0, len(others) - 1, left).astype(np.int64)]
    kept = np.sort(np.concatenate([np.flatnonzero(is_largest), others]))
    return sizes[kept], costs[kept]


def is_blind(entry: Mapping[str, Any]) -> bool:
    """Whether a replay had nothing that says which pages the program touched."""
    return entry.get("touches") == 0 and entry.get("touch") == "recorded"


def pages_verdict(systems: Sequence[Mapping[str, Any]]) -> str:
    """One sentence: how many pages ours maps at most, and how that compares."""
    completed = {system["name"]: system for system in systems if system["completed"]}
    ours = completed.get("rtvm")
    other = completed.get("conventional") or completed.get("conventional-mapped")
    if ours is None or other is None:
        name, alone = next(iter(completed.items()), (None, None))
        if alone is None:
            return "No system on pages held the trace."
        return f"{name} maps at most {alone['peak_mapped_pages']:,} pages at once."
    pages, theirs = ours["peak_mapped_pages"], other["peak_mapped_pages"]
    frees = [system["operations"]["free"]["max_instructions"] for system in (ours, other)]
    return (
        f"Giving pages back at once, the heap maps at most {pages:,} pages instead of {theirs:,}"
        f" ({theirs / max(pages, 1):.2f} times); its slowest free takes {frees[0]:,} instructions"
        f" instead of {frees[1]:,}."
    )

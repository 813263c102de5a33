"""Systems on the tile as `tau replay --json` lists them, and as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tautochrone.paging_entries import coarser, thinned
from tautochrone.tile import CYCLES_MAX, TileAccesses, TileCalls, TileReplay, tile_replay

ALWAYS_SHOWN = ("malloc", "free", "fault")


def tile_entry(
    trace_path: str | Path,
    name: str,
    frames: int | None = None,
    heap_bytes: int | None = None,
    check_level: int = 0,
    skip_misuse: bool = False,
    touch_all: bool = False,
    cycles_max: int | None = None,
) -> tuple[dict[str, Any], TileReplay]:
    """Replay on a system on the tile; its entry of "systems", and the replay. As tile_replay."""
    done = tile_replay(
        *(trace_path, name, frames, heap_bytes, check_level, skip_misuse, touch_all),
        cycles_max or CYCLES_MAX,
    )
    curve = coarser(done.mapped_pages)
    shown = {
        kind: calls for kind, calls in done.calls.items() if calls.count or kind in ALWAYS_SHOWN
    }
    entry = {
        "name": name,
        "completed": done.completed,
        "footprint_bytes": done.footprint_bytes,
        "footprint_ratio": done.footprint_bytes / done.peak_live_bytes
        if done.peak_live_bytes
        else None,
        "failed_at_event": done.failed_at_event,
        "cause": done.cause,
        "cycles": done.cycles,
        "start_cycles": done.start_cycles,
        "peak_mapped_pages": done.peak_mapped_pages,
        "mean_mapped_pages": round(done.mean_mapped_pages, 3),
        "end_mapped_pages": done.end_mapped_pages,
        "faults": done.faults,
        "touches": done.touches,
        "touch": "all" if touch_all else "recorded",
        "heap_pages": done.heap_pages,
        "frames": done.frames_count,
        "mapped_pages": {
            "event": curve.event.tolist(),
            "min": curve.low.tolist(),
            "max": curve.high.tolist(),
        },
        "operations": {kind: _operation(each) for kind, each in {**shown, **done.accesses}.items()},
        "counters": done.counters,
    }
    return entry, done


def _operation(each: TileCalls | TileAccesses) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "count": each.count,
        "max_cycles": each.max_cycles,
        "p999_cycles": each.p999_cycles,
    }
    if isinstance(each, TileAccesses):
        pairs = zip(each.cycles.tolist(), each.counts.tolist(), strict=True)
        entry["histogram"] = [[cycles, count] for cycles, count in pairs]
    elif each.count:
        entry["mean_cycles"] = round(float(each.cycles.mean()), 2)
        sizes, cycles = thinned(each.size_bytes, each.cycles)
        entry["by_size"] = {"size_bytes": sizes.tolist(), "cycles": cycles.tolist()}
    return entry


def tile_rows(systems: Sequence[Mapping[str, Any]]) -> Iterator[list[tuple[str, ...]]]:
    """Two tables for people: what each system maps, and what its operations take."""
    rows = [("system", "", "pages at most", "mean", "faults", "cycles")]
    for system in systems:
        mean = f"{system['mean_mapped_pages']:.1f}"
        cause = "" if system["completed"] else f"{system['cause']} ({system['failed_at_event']})"
        numbers = (system["peak_mapped_pages"], mean, system["faults"], system["cycles"])
        rows.append((system["name"], cause, *map(str, numbers)))
    yield rows
    rows = [("cycles on", "operation", "count", "p99.9", "max")]
    for system in systems:
        for kind, each in system["operations"].items():
            numbers = (each["count"], each["p999_cycles"], each["max_cycles"])
            rows.append((system["name"], kind, *map(str, numbers)))
    yield rows


def tile_verdict(systems: Sequence[Mapping[str, Any]]) -> str:
    """One sentence: how our worst cases compare with the conventional ones."""
    completed = {s["name"].split(":")[1]: s["operations"] for s in systems if s["completed"]}
    ours, theirs = completed.get("rtmmu"), completed.get("pagetable")
    if ours is None or theirs is None or not theirs["malloc"]["count"]:
        return f"{len(completed)} of {len(systems)} systems on the tile held the trace."
    ratios = [
        theirs["free"]["max_cycles"] / max(ours["free"]["max_cycles"], 1),
        ours["malloc"]["max_cycles"] / max(theirs["malloc"]["max_cycles"], 1),
    ]
    return (
        f"The slowest free takes {ours['free']['max_cycles']:,} cycles instead of"
        f" {theirs['free']['max_cycles']:,} ({ratios[0]:.2f} times less), the slowest malloc"
        f" {ours['malloc']['max_cycles']:,} instead of {theirs['malloc']['max_cycles']:,}"
        f" ({ratios[1]:.3f} times)."
    )

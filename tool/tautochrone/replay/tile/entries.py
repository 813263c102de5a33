"""Systems on the tile as `tau replay --json` lists them, and as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tautochrone.replay.paging_entries import ALWAYS_SHOWN, LINEAR, pages_of
from tautochrone.replay.tile import cycle_bounds
from tautochrone.replay.tile.program import simulator, tile_system
from tautochrone.replay.tile.progress import run_in_threads
from tautochrone.replay.tile.tile import (
    CYCLES_MAX,
    TileAccesses,
    TileCalls,
    TileReplay,
    tile_replay,
)

PARTS = 10  # of the footprint over time, for people


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
    shown = {
        kind: calls for kind, calls in done.calls.items() if calls.count or kind in ALWAYS_SHOWN
    }
    entry = {
        **pages_of(done, touch_all),
        "events": done.events,
        "cycles": done.cycles,
        "start_cycles": done.start_cycles,
        "heap_pages": done.heap_pages,
        "operations": {
            kind: {**_operation(each), **_bound_of(name, kind, check_level)}
            for kind, each in {**shown, **done.accesses}.items()
        },
        "counters": done.counters,
    }
    return entry, done


def tile_entries(
    trace_path: str | Path, names: Sequence[str], *settings: Any, **named: Any
) -> dict[str, dict[str, Any]]:
    """The entries of several systems on the tile, by name: each processor runs a simulator.

    What follows `names` is tile_entry's. An interrupt ends all simulators.
    """
    if not names:
        return {}
    # Here, and not in the threads: an interrupt of what takes half a minute reaches the main one.
    for name in names:
        simulator(tile_system(name))

    def replayed(name: str) -> dict[str, Any]:
        return tile_entry(trace_path, name, *settings, **named)[0]

    return dict(zip(names, run_in_threads(replayed, names), strict=True))


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
        entry["by_size"] = _by_size(each)
    return entry


def _bound_of(name: str, kind: str, check_level: int) -> dict[str, Any]:
    """The bound of an operation; `grows` if there is none because the code loops."""
    system = tile_system(name)
    is_known = system.config == cycle_bounds.CONFIG and system.unit in cycle_bounds.HEAPS
    is_known = is_known and check_level == 0  # checks make other code
    bound = cycle_bounds.tile_bound(system, kind) if is_known else None
    return {"bound_cycles": bound, "grows": LINEAR if is_known and bound is None else None}


def _by_size(each: TileCalls) -> dict[str, list[int]]:
    """Every call: how many there were of each size that took so many cycles."""
    points = np.stack([each.size_bytes.astype(np.int64), each.cycles.astype(np.int64)])
    (sizes, cycles), calls = np.unique(points, axis=1, return_counts=True)
    return {"size_bytes": sizes.tolist(), "cycles": cycles.tolist(), "calls": calls.tolist()}


def tile_rows(systems: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Tables for people, each with its title: what each system maps, how that runs over time, and
    what its operations take."""
    rows = [("system", "pages at most", "mean", "faults", "cycles in all")]
    for system in systems:
        mean = f"{system['mean_mapped_pages']:,.1f}"
        pages, faults, cycles = (
            f"{system[name]:,}" for name in ("peak_mapped_pages", "faults", "cycles")
        )
        rows.append((system["name"], pages, mean, faults, cycles))
    yield "on a simulated Ibex with the unit, pages of 4 KiB:", rows
    tenths = [f"{100 * part // PARTS} %" for part in range(1, PARTS + 1)]
    rows = [("system", *tenths)]
    for system in systems:
        rows.append((system["name"], *(f"{most:,}" for most in _most_by_part(system))))
    yield "pages mapped over the events, the most in each tenth of them:", rows
    rows = [("system", "operation", "count", "p99.9", "max", "bound")]
    for system in systems:
        for kind, each in system["operations"].items():
            numbers = (each["count"], each["p999_cycles"], each["max_cycles"])
            bound = each["bound_cycles"]
            shown = f"{bound:,}" if bound is not None else each["grows"] or ""
            rows.append((system["name"], kind, *(f"{number:,}" for number in numbers), shown))
    yield "cycles per call, per fault (access to repetition) and per access that hits:", rows


def _most_by_part(system: Mapping[str, Any]) -> list[int]:
    """The most pages mapped in each of PARTS parts of the events; what stood before, if none."""
    curve, events = system["mapped_pages"], max(system["events"], 1)
    most = [-1] * PARTS
    for event, high in zip(curve["event"], curve["max"], strict=True):
        part = min(event * PARTS // events, PARTS - 1)
        most[part] = max(most[part], high)
    for part in range(PARTS):
        if most[part] < 0:
            most[part] = most[part - 1] if part else 0
    return most


def tile_verdict(systems: Sequence[Mapping[str, Any]]) -> str:
    """One sentence: our worst cases beside the conventional ones."""
    completed = {system["name"]: system["operations"] for system in systems if system["completed"]}
    pair = _pair(list(completed))
    if len(completed) == 1 == len(systems):
        ((name, operations),) = completed.items()
        told = ", ".join(f"{kind} {_told(operations[kind])}" for kind in ("free", "malloc"))
        return f"On {name} at most: {told}."
    if pair is None or not completed[pair[1]]["malloc"]["count"]:
        held = sum(bool(system["completed"]) for system in systems)
        return f"{held} of {len(systems)} systems on the tile held the trace."
    most = {
        kind: [completed[name][kind]["max_cycles"] for name in pair] for kind in ("free", "malloc")
    }
    free, malloc = most["free"], most["malloc"]
    return (
        f"The slowest free takes {free[0]:,} cycles on {pair[0]}, {free[1]:,} on {pair[1]}"
        f" ({free[1] / max(free[0], 1):.2f} times as many), the slowest malloc {malloc[0]:,} and"
        f" {malloc[1]:,} ({malloc[1] / max(malloc[0], 1):.2f} times)."
    )


def _told(operation: Mapping[str, Any]) -> str:
    bound = operation.get("bound_cycles")
    return f"{operation['max_cycles']:,} cycles" + (f" (bound {bound:,})" if bound else "")


def _pair(names: Sequence[str]) -> tuple[str, str] | None:
    """The first of ours and the first with a page table, if both are there."""
    ours = [name for name in names if name.startswith("tile:rtmmu")]
    theirs = [name for name in names if name.startswith("tile:pagetable")]
    return (ours[0], theirs[0]) if ours and theirs else None

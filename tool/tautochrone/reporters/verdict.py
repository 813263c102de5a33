"""The one sentence that a busy engineer wants: how much heap, and how that compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tautochrone.reporters.panel import of_bytes

# What programs use today, in the order in which the first one present is named beside TLSF.
TODAY = ("glibc", "lea", "kingsley", "mimalloc", "jemalloc")


def verdict(
    peak_live_bytes: int, systems: Sequence[Mapping[str, Any]], plan_heap_bytes: int | None
) -> str:
    """Return the sentence. `systems` are those of `tau replay --json`, `plan_heap_bytes`
    is the plan's.

    Only systems that completed count; without any, the sentence says which command to run.
    """
    footprints = {
        system["name"]: system["footprint_bytes"]
        for system in systems
        if system["completed"] and system["footprint_bytes"]
    }
    held = f"It holds {of_bytes(peak_live_bytes)} at its peak"
    ours = footprints.get("budget")
    name = "the plan"
    if ours is None:
        ours, name = footprints.get("tlsf"), "plain TLSF"
    if ours is None:
        if plan_heap_bytes is None:
            return f"{held}; run `tau replay` to learn what each allocator needs for it."
        return (
            f"{held}; the plan asks for a heap of {of_bytes(plan_heap_bytes)}, not replayed here."
        )
    sentence = f"With {name}, this program needs a heap of {of_bytes(ours)} ({ours:,} bytes)"
    sentence += f", {_percent(ours / max(peak_live_bytes, 1) - 1)} above what it holds at its peak"
    others = [other for other in ("tlsf",) if other in footprints and name == "the plan"]
    others += [other for other in TODAY if other in footprints][:1]
    if others:
        sentence += ": " + " and ".join(_compared(ours, footprints[o], o) for o in others)
    return sentence + "."


def _compared(ours: int, theirs: int, name: str) -> str:
    """Write how our heap compares with that of another system."""
    label = "plain TLSF" if name == "tlsf" else name
    change = ours / theirs - 1
    if abs(change) < 0.0005:
        return f"as much as {label}"
    return f"{_percent(abs(change))} {'less' if change < 0 else 'more'} than {label}"


def _percent(fraction: float) -> str:
    """Write a fraction as a percentage with as many digits as it takes to compare two."""
    percent = 100 * fraction
    if percent >= 10:
        return f"{percent:.0f} %"
    return f"{percent:.1f} %" if percent >= 0.1 else f"{percent:.2g} %"

"""The one sentence that a busy engineer wants: how much heap, and how that compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tautochrone.console.output import percent
from tautochrone.report.panel import of_bytes

# What programs use today, in the order in which the first one present is named beside TLSF.
TODAY = ("glibc", "lea", "kingsley", "mimalloc", "jemalloc")


def verdict(
    peak_live_bytes: int,
    systems: Sequence[Mapping[str, Any]],
    plan_heap_bytes: int | None,
    margin: float = 0.0,
) -> str:
    """Return the sentence. `systems` are those of `tau replay --json`, `plan_heap_bytes`
    is the plan's, its `margin` (a fraction) included.

    The heap that is stated is the plan's; other systems are compared with the smallest heap in
    which the plan holds the recording, as their own are the smallest. Only systems that completed
    count; without any, the sentence says which command to run.
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
        asked = f"{of_bytes(plan_heap_bytes)}{_included(margin)}"
        return f"{held}; the plan asks for a heap of {asked}, not replayed here."
    heap = plan_heap_bytes if plan_heap_bytes is not None and name == "the plan" else ours
    if heap < ours:
        return (
            f"The plan's heap of {heap:,} bytes is too small for this recording, which needs at"
            f" least {ours:,} bytes; plan all recordings together."
        )
    included = _included(margin) if name == "the plan" else ""
    sentence = f"With {name}, this program needs a heap of {of_bytes(heap)}"
    sentence += f" ({heap:,} bytes{included})"
    if peak_live_bytes == 0:
        sentence += ", though it never holds a byte"
    else:
        sentence += f", {percent(heap / peak_live_bytes - 1)} above what it holds at its peak"
    if heap != ours:
        sentence += f". The smallest that holds this recording is {ours:,} bytes"
    others = [other for other in ("tlsf",) if other in footprints and name == "the plan"]
    others += [other for other in TODAY if other in footprints][:1]
    if others:
        sentence += ": " + " and ".join(_compared(ours, footprints[o], o) for o in others)
    return sentence + "."


def _included(margin: float) -> str:
    """Say that a margin is part of a heap, if there is one."""
    return f", its margin of {100 * margin:.3g} % included" if margin else ""


def _compared(ours: int, theirs: int, name: str) -> str:
    """Write how our heap compares with that of another system."""
    label = "plain TLSF" if name == "tlsf" else name
    change = ours / theirs - 1
    if abs(change) < 0.0005:
        return f"as much as {label}"
    return f"{percent(abs(change))} {'less' if change < 0 else 'more'} than {label}"

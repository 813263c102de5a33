"""The verdict: how much heap, in one short sentence, how that compares, and what to do next."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from tautochrone.console.output import percent
from tautochrone.plan.again import again
from tautochrone.plan.file import Plan
from tautochrone.replay.entry import OURS, PEER, PLANNED, Entry
from tautochrone.report.figure import of_bytes

PLAIN = "plain TLSF"
GUARANTEED = "pools"


def verdict(
    peak_live_bytes: int,
    entries: Sequence[Entry],
    plan_heap_bytes: int | None,
    margin: float = 0.0,
    plan_peaks: Sequence[int] = (),
) -> list[str]:
    """Return sentences on heaps; the first is the headline, of at most 20 words.

    `plan_heap_bytes` includes the plan's `margin`, a fraction. `plan_peaks` are the peaks of the
    recordings that the plan is made from.

    The headline states the plan's heap. Other systems are compared with the safe heap in which the
    plan holds the recording, because theirs are safe heaps as well. Only systems that
    completed count. If there are none, the sentences say which command to run.
    """
    counted = [entry for entry in entries if entry.held and entry.footprint_bytes]
    held = f"This program holds {of_bytes(peak_live_bytes)} at its peak."
    planned = next((entry for entry in counted if entry.role == PLANNED), None)
    plain = next((entry for entry in counted if entry.role == OURS), None)
    chosen, name = (planned, "the plan") if planned else (plain, PLAIN)
    if chosen is None:
        if plan_heap_bytes is None:
            return [held, "With --on tlsf,glibc, this report also compares allocators."]
        asked = f"The plan has a heap of {of_bytes(plan_heap_bytes)}{_included(margin)}"
        return [held, f"{asked}, which was not replayed here."]
    ours = chosen.footprint_bytes
    heap = plan_heap_bytes if plan_heap_bytes is not None and planned else ours
    if heap < ours and planned and planned.name == GUARANTEED:
        return [
            "This recording exceeds the plan's limits.",
            f"It needs at least {ours:,} bytes; the plan's heap has {heap:,}.",
            "`tau check PLAN TRACE` names the limits.",
        ]
    if heap < ours:
        return [
            f"The plan's heap of {heap:,} bytes is too small for this recording.",
            f"It needs at least {ours:,} bytes; plan all recordings together.",
        ]
    above = _above(heap, peak_live_bytes, plan_peaks if planned else ())
    told = f"a heap of {of_bytes(heap)} ({heap:,} bytes)"
    if planned and planned.name == GUARANTEED:
        above += _included(margin)
        return [
            f"With {told}, no call fails within the plan's limits, in any order.",
            f"{above}.",
            *_recorded_alone(counted),
        ]
    above += _included(margin) if planned else ""
    if others := _others(counted, is_plain=planned is not None):
        compared = [_compared(ours, other.footprint_bytes, label) for other, label in others]
        against = f": {' and '.join(compared)}"
    else:
        against = ""
    headline = f"With {name}, this program needs {told}."
    if heap == ours:
        return [headline, f"{above}{against}."]
    smallest = f"The least safe heap for this recording is {ours:,} bytes{against}."
    return [headline, f"{above}.", smallest]


def next_steps(
    trace: Path, command: str, path: Path | None, plan: Plan | None, entries: Sequence[Entry]
) -> list[str]:
    """Return what to do next, in order. `command` starts the recorded program."""
    recording = shlex.quote(str(trace))
    if path is None or plan is None:
        return [
            f"Plan its heap: `tau plan {recording} -o plan.toml`",
            f"Compare: `tau report {recording} --plan plan.toml --on tlsf,budget,glibc`",
        ]
    told = shlex.quote(str(path))
    name = GUARANTEED if plan.system == GUARANTEED else "budget"
    found = [entry for entry in entries if entry.name == name and entry.footprint_bytes]
    if not found:
        return [f"Check the plan: `tau replay {recording} --on tlsf,{name} --plan {told}`"]
    if not found[0].held or found[0].footprint_bytes > plan.heap_bytes:
        return [f"Plan both together: `{again(path, plan, [trace])}`"]
    if plan.layout == "host":
        steps = [f"Run it in this heap: `tau run --plan {told} -- {command}`"]
    else:
        steps = [
            f"Check each call on the target's machine code: `tau verify {told} {recording}`",
            "Build the heap into the firmware: `tau plan … --header heap_plan.h`",
        ]
    if len(plan.traces) == 1 and name != GUARANTEED:
        steps.append(
            "Record more runs and plan them together: this plan knows one, and runs differ."
        )
    return steps


def _above(heap: int, peak_live_bytes: int, plan_peaks: Sequence[int]) -> str:
    """Return the words for the heap above the peak."""
    if peak_live_bytes == 0:
        return "It never holds a byte"
    if len(plan_peaks) > 1:
        above = percent(heap / max(plan_peaks) - 1)
        return f"That is {above} above the highest peak of its {len(plan_peaks)} recordings"
    return f"That is {percent(heap / peak_live_bytes - 1)} above its peak of live bytes"


def _recorded_alone(counted: Sequence[Entry]) -> list[str]:
    """Return the sentence on what peers of a plan with a guarantee need, if there are any."""
    if not (others := _others(counted, is_plain=True)):
        return []
    needs = " and ".join(f"{label} {other.footprint_bytes:,}" for other, label in others)
    return [f"Bytes for the recorded order alone: {needs}; another order can need more."]


def _others(counted: Sequence[Entry], is_plain: bool) -> list[tuple[Entry, str]]:
    """Return the peers of a plan: plain TLSF, and an allocator of today."""
    plain = [(entry, PLAIN) for entry in counted if entry.role == OURS][:1] if is_plain else []
    # The allocators of this machine stand for today's.
    peers = [entry for entry in counted if entry.role == PEER]
    peers.sort(key=lambda entry: not entry.in_process)
    return plain + [(peer, peer.name) for peer in peers[:1]]


def _included(margin: float) -> str:
    """Return the words for a margin that is part of a heap, if any."""
    return f", its margin of {100 * margin:.3g} % included" if margin else ""


def _compared(ours: int, theirs: int, label: str) -> str:
    """Return the comparison of our heap with another system's."""
    change = ours / theirs - 1
    if abs(change) < 0.0005:
        return f"as much as {label}"
    return f"{percent(abs(change))} {'less' if change < 0 else 'more'} than {label}"

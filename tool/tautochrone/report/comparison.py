"""Sentences that compare our systems on pages with conventional ones."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone.replay.entry import CONVENTIONAL, CYCLES, INSTRUCTIONS, OURS, Entry


def heaps(entries: Sequence[Entry]) -> list[Entry]:
    """The entries of systems that use a heap and map no pages."""
    return [entry for entry in entries if entry.pages is None]


def on_pages(entries: Sequence[Entry]) -> list[Entry]:
    """The entries of systems that map pages in software."""
    return [entry for entry in entries if entry.pages is not None and entry.simulation is None]


def simulated(entries: Sequence[Entry]) -> list[Entry]:
    """The entries of systems on the simulated tile."""
    return [entry for entry in entries if entry.simulation is not None]


def pages_sentence(entries: Sequence[Entry]) -> str:
    """Compare the peak of mapped pages of our system. All of `entries` map pages."""
    held = [entry for entry in entries if entry.held]
    pair = _pair(held)
    if pair is None:
        if not held:
            return "No system on pages held the trace."
        return f"{held[0].name} maps at most {_peak(held[0]):,} pages."
    pages, theirs = (_peak(entry) for entry in pair)
    frees = [_most(entry, "free", INSTRUCTIONS) for entry in pair]
    return (
        f"With pages returned at once, the heap maps at most {pages:,} pages instead of {theirs:,}"
        f" ({theirs / max(pages, 1):.2f} times); its slowest free takes {frees[0]:,} instructions"
        f" instead of {frees[1]:,}."
    )


def cycles_sentence(entries: Sequence[Entry]) -> str:
    """Compare our maxima in cycles with conventional ones. All of `entries` were simulated."""
    held = [entry for entry in entries if entry.held]
    if len(held) == 1 == len(entries):
        told = ", ".join(f"{kind} {_with_bound(held[0], kind)}" for kind in ("free", "malloc"))
        return f"Maxima on {held[0].name}: {told}."
    pair = _pair(held)
    if pair is None or not pair[1].operations["malloc"].count:
        return f"{len(held)} of {len(entries)} systems on the tile held the trace."
    free, malloc = ([_most(entry, kind, CYCLES) for entry in pair] for kind in ("free", "malloc"))
    return (
        f"The slowest free takes {free[0]:,} cycles on {pair[0].name}, {free[1]:,} on"
        f" {pair[1].name} ({free[1] / max(free[0], 1):.2f} times as many), the slowest malloc"
        f" {malloc[0]:,} and {malloc[1]:,} ({malloc[1] / max(malloc[0], 1):.2f} times)."
    )


def _pair(entries: Sequence[Entry]) -> tuple[Entry, Entry] | None:
    """The first of our entries and the first conventional one, if both exist."""
    ours = [entry for entry in entries if entry.role == OURS]
    theirs = [entry for entry in entries if entry.role == CONVENTIONAL]
    return (ours[0], theirs[0]) if ours and theirs else None


def _peak(entry: Entry) -> int:
    assert entry.pages is not None
    return entry.pages.peak


def _most(entry: Entry, operation: str, unit: str) -> int:
    measure = entry.operations[operation].measure(unit)
    return measure.max or 0 if measure is not None else 0


def _with_bound(entry: Entry, operation: str) -> str:
    measure = entry.operations[operation].measure(CYCLES)
    assert measure is not None
    bound = f" (bound {measure.bound:,})" if measure.bound else ""
    return f"{measure.max:,} cycles{bound}"

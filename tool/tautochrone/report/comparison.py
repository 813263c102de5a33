"""Sentences that compare our systems on pages with conventional ones."""

from collections.abc import Callable, Sequence

from tautochrone.console.output import percent
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


def estimates(entries: Sequence[Entry]) -> list[str]:
    """A sentence for each layout whose systems were given sizes of another ABI."""
    told = dict.fromkeys(entry.estimate for entry in entries if entry.estimate)
    return [
        f"{', '.join(entry.name for entry in entries if entry.estimate == sentence)}: {sentence}"
        for sentence in told
    ]


def by_recording(
    entries: Sequence[Entry], recording: str, sentence: Callable[[Sequence[Entry]], str]
) -> list[str]:
    """Return `sentence` of the entries of each recording; other ones than `recording` are named."""
    said = []
    for name in dict.fromkeys(entry.recording or recording for entry in entries):
        told = sentence([entry for entry in entries if (entry.recording or recording) == name])
        if name != recording:
            told = f"In another recording ({name}): {told[0].lower()}{told[1:]}"
        said.append(told)
    return said


def pages_sentence(entries: Sequence[Entry]) -> str:
    """Compare the peak of mapped pages of our system. All of `entries` map pages."""
    held = [entry for entry in entries if entry.held]
    pair = _pair(held)
    if not held:
        return "No system on pages held the trace."
    if pair is None or _room(pair[0]) != _room(pair[1]):
        told = ", ".join(f"{entry.name} maps at most {_peak(entry):,} pages" for entry in held)
        return f"{told}." if pair is None else f"{told}, in heaps of different sizes."
    pages, theirs = (_peak(entry) for entry in pair)
    frees = [_most(entry, "free", INSTRUCTIONS) for entry in pair]
    return (
        f"With pages returned at once, the heap maps at most {pages:,} pages instead of {theirs:,}"
        f" ({_change(pages, theirs)}); its slowest free takes {frees[0]:,} instructions instead of"
        f" {frees[1]:,} ({_change(*frees)})."
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
        f"The slowest free takes {free[0]:,} cycles on {pair[0].name} instead of {free[1]:,} on"
        f" {pair[1].name} ({_change(*free)}); the slowest malloc takes {malloc[0]:,} instead of"
        f" {malloc[1]:,} ({_change(*malloc)})."
    )


def _change(ours: int, theirs: int) -> str:
    """Return how our number differs from theirs, in words."""
    if ours == theirs:
        return "equally many"
    if ours > theirs:
        return f"{percent(ours / theirs - 1)} more" if theirs else "more"
    if theirs >= 2 * ours:
        return f"{theirs / max(ours, 1):,.2f} times fewer"
    return f"{percent(1 - ours / theirs)} fewer"


def _pair(entries: Sequence[Entry]) -> tuple[Entry, Entry] | None:
    """The first of our entries and the first conventional one, if both exist."""
    ours = [entry for entry in entries if entry.role == OURS]
    theirs = [entry for entry in entries if entry.role == CONVENTIONAL]
    return (ours[0], theirs[0]) if ours and theirs else None


def _room(entry: Entry) -> int | None:
    """The pages of its heap, on which the peak depends: two heaps are compared in equal room."""
    assert entry.pages is not None
    return entry.pages.heap_pages


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

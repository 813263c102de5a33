"""The safe heap of several recordings: the same search as a replay's (replay/search.py)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tautochrone.errors import TauError
from tautochrone.heap.recordings import Classes, Recording
from tautochrone.replay.search import safe_steps, samples_of


def samples_count(recordings: Sequence[Recording]) -> int:
    """How many sizes above a heap are tried."""
    return samples_of(sum(recording.events for recording in recordings))


def safe_heap(
    recordings: Sequence[Recording], classes: Classes, heap_bytes: int, alignment_bytes: int
) -> int:
    """The least heap from `heap_bytes` on that holds every recording, as do all sampled above it.

    Raises TauError if there is none.
    """
    most = min((recording.highest_bytes for recording in recordings), default=heap_bytes)

    def all_hold(sizes: Sequence[int]) -> Iterator[bool]:
        each_holds = (recording.all_hold(classes, sizes) for recording in recordings)
        return map(all, zip(*each_holds, strict=False))

    samples, found = samples_count(recordings), 0
    for found in safe_steps(all_hold, heap_bytes, most, samples, alignment_bytes):
        pass
    if not found:
        raise TauError(
            f"no heap up to {most:,} bytes holds every recording", "make a plan for each recording"
        )
    return found

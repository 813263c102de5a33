"""The safe heap of several recordings: the same search as a replay's (replay/search.py)."""

from __future__ import annotations

from collections.abc import Sequence

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

    def holds(size: int) -> bool:
        return all(each.completed(classes, size) == each.events for each in recordings)

    samples, found = samples_count(recordings), 0
    for found in safe_steps(holds, heap_bytes, most, samples, alignment_bytes):
        pass
    if not found:
        raise TauError(
            f"no heap up to {most:,} bytes holds every recording", "make a plan for each recording"
        )
    return found

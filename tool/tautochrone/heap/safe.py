"""The safe heap of several recordings: every larger heap holds them, too (replay/threshold.py)."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone.errors import TauError
from tautochrone.heap.recordings import Classes, Recording
from tautochrone.replay.session import HEAP_32_BYTES_MAX


def safe_heap(recordings: Sequence[Recording], classes: Classes, lower_bytes: int = 0) -> int:
    """The least heap of at least `lower_bytes` from which on every heap holds every recording.

    Raises TauError if there is none.
    """
    heap_bytes = lower_bytes
    while True:  # bound: the kinds of tables, as each round but the last finds a larger heap
        found = [recording.threshold(classes, least_bytes=heap_bytes) for recording in recordings]
        if 0 in found:
            most = min(recording.highest_bytes for recording in recordings)
            is_at_end = most == HEAP_32_BYTES_MAX
            step = "make a plan for each recording" if len(recordings) > 1 else None
            raise TauError(
                f"no heap up to {most:,} bytes holds every recording",
                "plan with --layout host" if is_at_end else step,
            )
        if max(found) <= heap_bytes:
            return heap_bytes
        heap_bytes = max(found)

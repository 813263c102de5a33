"""The safe heap of several recordings: every larger heap holds them, too (replay/threshold.py)."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone.errors import TauError
from tautochrone.heap.recordings import Classes, Recording


def safe_heap(recordings: Sequence[Recording], classes: Classes, lower_bytes: int = 0) -> int:
    """The least heap of at least `lower_bytes` from which on every heap holds every recording.

    Raises TauError if there is none.
    """
    found = [recording.threshold(classes) for recording in recordings]
    if 0 in found:
        most = min(recording.highest_bytes for recording in recordings)
        raise TauError(
            f"no heap up to {most:,} bytes holds every recording",
            "plan with --layout host" if most <= 1 << 30 else "make a plan for each recording",
        )
    return max(lower_bytes, *found)

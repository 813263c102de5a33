"""The heap from which on larger heaps hold, too.

Whether a recording completes is not monotone in the size of the heap: a larger heap places blocks
elsewhere, and may fail. The smallest heap that holds is often an island below sizes that do not. A
firmware's heap is rarely of exactly the planned size: it grows by the rest of a section. So a
plan states a size from which on every sampled one holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tautochrone.errors import TauError
from tautochrone.heap.recordings import Classes, Recording

ABOVE = 0.25  # sizes up to this part more are sampled
SAMPLES_MAX = 48  # half of them are the sizes just above, the others spread evenly
SAMPLES_MIN = 16
SAMPLED_EVENTS = 60_000_000  # long recordings have fewer samples


def samples_count(recordings: Sequence[Recording]) -> int:
    """How many sizes above a heap are tried."""
    events = sum(recording.events for recording in recordings)
    return min(max(SAMPLED_EVENTS // max(events, 1), SAMPLES_MIN), SAMPLES_MAX)


def _above(heap_bytes: int, count: int, step: int) -> Iterator[int]:
    near = count // 2
    yield from (heap_bytes + step * index for index in range(near + 1))
    for index in range(1, count - near + 1):
        size = int(heap_bytes * (1 + ABOVE * index / (count - near)))
        if size > heap_bytes + step * near:
            yield size & -step


def threshold(
    recordings: Sequence[Recording], classes: Classes, heap_bytes: int, alignment_bytes: int
) -> int:
    """The least heap from `heap_bytes` on that holds every recording, as do all sampled above it.

    Behind a size that fails the search goes on. Raises TauError if none is left.
    """
    count = samples_count(recordings)
    most = min((recording.highest_bytes for recording in recordings), default=heap_bytes)
    while heap_bytes <= most:
        failed = _first_failure(recordings, classes, heap_bytes, count, alignment_bytes, most)
        if failed is None:
            return heap_bytes
        heap_bytes = failed + alignment_bytes
    raise TauError(
        f"no heap up to {most:,} bytes holds every recording", "make a plan for each recording"
    )


def _first_failure(
    recordings: Sequence[Recording],
    classes: Classes,
    heap_bytes: int,
    count: int,
    step: int,
    most: int,
) -> int | None:
    """The largest sampled size that fails; None if all hold. From above, so that one pass does."""
    sizes = [size for size in _above(heap_bytes, count, step) if size <= most]
    for size in reversed(sizes):
        if not all(each.completed(classes, size) == each.events for each in recordings):
            return size
    return None

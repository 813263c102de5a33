"""The searches for the smallest heap in which a trace completes, and for a safe one.

Whether a trace completes is not monotone in the size of the heap: a larger heap can place blocks
elsewhere and fail. On small traces, the smallest heap that holds may be a tenth below the size from
which all larger heaps hold. So `search_steps` does not assume monotony. After galloping and
bisecting it tries a grid of sizes from the lower bound upward, and refines the first that holds.
Its result holds; RESOLUTION_BYTES less does not, and no smaller size of the grid does. For small
traces the grid's pitch is RESOLUTION_BYTES, so the result is the smallest heap.

A firmware's heap is rarely of exactly the planned size: it grows by the rest of a section. So the
size that is reported is safe: `safe_steps` goes upward from the smallest heap, to the first size
from which every sample up to ABOVE more holds, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

RESOLUTION_BYTES = 8
GALLOP_FRACTION = 64  # The first step above the peak is a 64th of it.
GRID_EVENTS = 20_000_000  # The grid has as many sizes as replay this many events.
GRID_SIZES_MIN = 12
GRID_SIZES_MAX = 4096
ABOVE = 0.25  # a safe heap holds in sizes up to this part more
SAMPLED_EVENTS = 8_000_000  # as many sizes are sampled as replay this many events
SAMPLES_MIN = 16
SAMPLES_MAX = 240
NEAR_PART = 4  # so many times fewer samples are the next multiples of the step


def grid_sizes_of(events: int) -> int:
    """The number of sizes in the grid for a trace with this many events."""
    return min(max(GRID_EVENTS // max(events, 1), GRID_SIZES_MIN), GRID_SIZES_MAX)


def search_steps(
    holds: Callable[[int], bool],
    lower_bytes: int,
    limit_bytes: int,
    guess_bytes: int | None = None,
    grid_sizes: int = GRID_SIZES_MIN,
) -> Iterator[int]:
    """Yield the smallest size known to hold after each trial (0: none); the last is the result.

    No size below `lower_bytes` can hold, and none above `limit_bytes` is tried. `guess_bytes` is
    tried first.
    """
    lowest = max(_round_up(lower_bytes), RESOLUTION_BYTES)
    fails, best = lowest - RESOLUTION_BYTES, 0
    step = _round_up(max(lowest // GALLOP_FRACTION, 1024))
    trial = min(_round_up(guess_bytes) if guess_bytes else lowest + step, limit_bytes)
    while not best:
        if holds(trial):
            best = trial
        elif trial >= limit_bytes:
            yield 0
            return
        else:
            fails = max(fails, trial)
            step *= 2
            trial = min(fails + step, limit_bytes)
        yield best
    for smaller in _bisect(holds, fails, best):
        best = smaller
        yield best
    pitch = _round_up(-(-(best - lowest) // max(grid_sizes, 1)) or RESOLUTION_BYTES)
    for trial in range(lowest, best - RESOLUTION_BYTES, pitch):
        if holds(trial):
            yield from _bisect(holds, max(trial - pitch, lowest - RESOLUTION_BYTES), trial)
            return
        yield best


def samples_of(events: int) -> int:
    """How many sizes above a safe heap are tried for traces with so many events in all."""
    return min(max(SAMPLED_EVENTS // max(events, 1), SAMPLES_MIN), SAMPLES_MAX)


def safe_steps(
    all_hold: Callable[[Sequence[int]], Iterable[bool]],
    heap_bytes: int,
    limit_bytes: int,
    samples: int,
    step_bytes: int = RESOLUTION_BYTES,
) -> Iterator[int]:
    """Yield after each trial the least size that may be safe (0: none); the last is the result.

    `all_hold` tells one after the other whether sizes hold; it may try some ahead. No size below
    `heap_bytes` is tried, and none above `limit_bytes`. Behind the largest sample that fails, the
    search starts again.
    """
    while heap_bytes <= limit_bytes:
        sizes = _sampled(heap_bytes, limit_bytes, samples, step_bytes)[::-1]
        for size, is_held in zip(sizes, all_hold(sizes), strict=False):
            if not is_held:
                heap_bytes = size + step_bytes
                yield heap_bytes
                break
            yield heap_bytes
        else:
            return
    yield 0


def _sampled(heap_bytes: int, limit_bytes: int, samples: int, step_bytes: int) -> list[int]:
    """The size itself, the next ones, and sizes spread evenly up to ABOVE more; none twice."""
    near = samples // NEAR_PART
    spread = samples - near
    sizes = {heap_bytes + step_bytes * index for index in range(near + 1)}
    sizes |= {
        int(heap_bytes * (1 + ABOVE * index / spread)) & -step_bytes
        for index in range(1, spread + 1)
    }
    return sorted(size for size in sizes if heap_bytes <= size <= limit_bytes)


def _bisect(holds: Callable[[int], bool], fails: int, best: int) -> Iterator[int]:
    """Yield sizes that hold, down to one that fails with RESOLUTION_BYTES less."""
    yield best
    while best - fails > RESOLUTION_BYTES:
        middle = fails + _round_up((best - fails) // 2)
        if holds(middle):
            best = middle
        else:
            fails = middle
        yield best


def _round_up(size_bytes: int) -> int:
    return (size_bytes + RESOLUTION_BYTES - 1) // RESOLUTION_BYTES * RESOLUTION_BYTES

"""The search for a safe heap of a peer: one in which a trace completes, as in larger ones.

Whether a trace completes is not monotone in the size of the heap: a larger heap can place blocks
elsewhere and fail. So the smallest heap that holds is often an island: on small traces it may be a
tenth below the size from which all larger heaps hold. And a firmware's heap is rarely of exactly
the planned size: it grows by the rest of a section.

So a size is reported above which every sampled size holds. `safe_steps` gallops and bisects to a
heap that holds while a step less fails. Then it tries samples up to ABOVE more, from the largest
down. If one fails, it bisects between that and the next sample, and goes on from there. Most
samples are multiples of a power of two, so that few are new then; none is tried twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tautochrone.console.bars import progress
from tautochrone.errors import TauError

RESOLUTION_BYTES = 8
RESOLUTION_PART = 65_536  # of a large heap, the step is the power of two up to such a part
GALLOP_FRACTION = 512  # the first step above the lower bound is a 512th of it
ABOVE = 0.25  # a safe heap holds in sizes up to this part more
SAMPLED_EVENTS = 8_000_000  # as many sizes are sampled as replay this many events
SAMPLES_MIN = 16
SAMPLES_MAX = 480
NEAR_PART = 4  # so many times fewer samples are the next multiples of the step
# A heap has at most so many times the lower bound, and for small ones so many bytes more. A library
# that takes only some sizes of an arena would be searched in ever larger ones.
REACH, REACH_BYTES = 64, 16 << 20


def samples_of(events: int) -> int:
    """At most how many sizes above a safe heap are tried for traces with so many events in all."""
    return min(max(SAMPLED_EVENTS // max(events, 1), SAMPLES_MIN), SAMPLES_MAX)


def step_of(size_bytes: int, least_bytes: int = RESOLUTION_BYTES) -> int:
    """The resolution of a search for a heap of at least this size."""
    return max(least_bytes, _power_of_two(size_bytes // RESOLUTION_PART))


def bisected_steps(
    holds: Callable[[int], bool],
    lower_bytes: int,
    limit_bytes: int,
    guess_bytes: int | None = None,
    step_bytes: int = RESOLUTION_BYTES,
    within_bytes: int = 0,
    descent_bytes: int = 0,
) -> Iterator[int]:
    """Yield the smallest size known to hold after each trial (0: none); the last is the result.

    It holds, and `step_bytes` less does not, or would be below `lower_bytes`, where no size can
    hold. With `within_bytes`, up to so much less does not. Sizes are multiples of the step, none
    above `limit_bytes`. `guess_bytes` is tried first; with `descent_bytes` it is close, so that
    the next sizes are so much smaller, then twice as much, and so on.
    """
    limit_bytes = most_of(lower_bytes, limit_bytes)
    lowest = max(_round_up(lower_bytes, step_bytes), step_bytes)
    limit_bytes -= limit_bytes % step_bytes
    fails, best = lowest - step_bytes, 0
    gallop = _round_up(max(lowest // GALLOP_FRACTION, 1024), step_bytes)
    trial = min(_round_up(guess_bytes or lowest + gallop, step_bytes), limit_bytes)
    if lowest > limit_bytes:
        yield 0
        return
    while not best:
        if holds(trial):
            best = trial
        elif trial >= limit_bytes:
            yield 0
            return
        else:
            fails = max(fails, trial)
            gallop *= 2
            trial = min(fails + gallop, limit_bytes)
        yield best
    descent = _round_up(descent_bytes, step_bytes) or best
    while best - fails > max(step_bytes, within_bytes):
        middle = max(fails + _round_up((best - fails) // 2, step_bytes), best - descent)
        if holds(middle):
            best, descent = middle, 2 * descent
        else:
            fails = middle
        yield best


def safe_steps(
    all_hold: Callable[[Sequence[int]], Iterable[bool]],
    lower_bytes: int,
    limit_bytes: int,
    samples: int,
    guess_bytes: int | None = None,
    step_bytes: int = RESOLUTION_BYTES,
    useful_bytes: int | None = None,
    descent_bytes: int = 0,
) -> Iterator[int]:
    """Yield after each trial the least size that may be safe (0: none); the last is the result.

    `all_hold` tells one after the other whether sizes hold; it may try some ahead. The search ends
    if only sizes above `useful_bytes` are left (0). The others are those of `bisected_steps`, of
    which `descent_bytes` goes with the first guess.
    """
    held: set[int] = set()
    most = most_of(lower_bytes, limit_bytes if useful_bytes is None else useful_bytes)

    def holds(size: int) -> bool:
        if size not in held and all(all_hold([size])):
            held.add(size)
        return size in held

    while lower_bytes <= most:
        heap_bytes = 0
        given = (lower_bytes, limit_bytes, guess_bytes, step_bytes)
        for heap_bytes in bisected_steps(holds, *given, descent_bytes=descent_bytes):
            yield heap_bytes
        descent_bytes = 0
        if not 0 < heap_bytes <= most:
            break
        sizes = sampled(heap_bytes, limit_bytes, samples, step_bytes)
        untried = sorted(sizes - held, reverse=True)
        if useful_bytes is not None:  # one that fails is most often near
            untried.sort(key=lambda size: size > heap_bytes + samples // NEAR_PART * step_bytes)
        for size, is_held in zip(untried, all_hold(untried), strict=False):
            if not is_held:
                lower_bytes = size + step_bytes
                guess_bytes = min((each for each in held if each > size), default=None)
                break
            held.add(size)
            yield heap_bytes
        else:
            return
    yield 0


def most_of(lower_bytes: int, limit_bytes: int) -> int:
    """The largest size that is tried."""
    return min(limit_bytes, lower_bytes * REACH + REACH_BYTES)


def last_of(steps: Iterable[int], name: str, limit_bytes: int, next_step: str | None) -> int:
    """The last of the steps. Raises TauError if it is 0: no size holds, or only some do."""
    found = held = 0
    for found in progress(steps, f"safe heap of {name}"):
        held = held or found
    if held and not found:
        raise TauError(
            f"{name} holds the trace in {held:,} bytes, but larger heaps fail again and again",
            "replay it in a heap of one size with --heap",
        )
    if not found:
        raise TauError(f"{name} does not hold the trace in {limit_bytes:,} bytes", next_step)
    return found


def sampled(heap_bytes: int, limit_bytes: int, samples: int, step_bytes: int) -> set[int]:
    """The next sizes above a heap, and the multiples of a power of two up to ABOVE more."""
    near = samples // NEAR_PART
    pitch = max(_power_of_two(int(heap_bytes * ABOVE / (samples - near)) * 2), step_bytes)
    most = min(int(heap_bytes * (1 + ABOVE)), limit_bytes)
    next_ones = {heap_bytes + step_bytes * index for index in range(1, near + 1)}
    spread = set(range(_round_up(heap_bytes + 1, pitch), most + 1, pitch))
    return {size for size in next_ones | spread if size <= most}


def _power_of_two(value: int) -> int:
    """The largest power of two up to `value`; 0 below 1."""
    return 1 << value.bit_length() - 1 if value > 0 else 0


def _round_up(size_bytes: int, step_bytes: int) -> int:
    return -(-size_bytes // step_bytes) * step_bytes

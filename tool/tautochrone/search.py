"""The search for the smallest heap in which a trace completes.

What a trace needs is not monotone in the size of the heap: a larger one can place blocks elsewhere
and fail. So the answer is defined by what was seen and not by an assumption: the size holds, the
size RESOLUTION_BYTES below it does not, and neither do PROBES sizes further below (at distances
that double). If a probe holds, the search goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

RESOLUTION_BYTES = 8
PROBES = 12
GALLOP_FRACTION = 64  # the first step above the peak is a 64th of it


def search_steps(
    holds: Callable[[int], bool], lower_bytes: int, limit_bytes: int, guess_bytes: int | None = None
) -> Iterator[int]:
    """Yield the smallest size that is known to hold after each trial (0: none), the answer last.

    Gallops up from `lower_bytes` (nothing below it can hold) or from `guess_bytes`, bisects to
    RESOLUTION_BYTES, then probes below.
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
    while True:
        while best - fails > RESOLUTION_BYTES:
            middle = fails + _round_up((best - fails) // 2)
            if middle < best and holds(middle):
                best = middle
            else:
                fails = middle
            yield best
        floor = best
        for probe in range(1, PROBES + 1):
            trial = best - (RESOLUTION_BYTES << probe)
            if trial < lowest:
                break
            if holds(trial):
                best, fails = trial, lowest - RESOLUTION_BYTES
                yield best
                break
            yield best
        if best == floor:
            return


def _round_up(size_bytes: int) -> int:
    return (size_bytes + RESOLUTION_BYTES - 1) // RESOLUTION_BYTES * RESOLUTION_BYTES

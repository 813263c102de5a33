"""The safe heap of several recordings: the same search as a replay's (replay/search.py)."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from tautochrone.console.bars import progress
from tautochrone.errors import TauError
from tautochrone.heap.recordings import Classes, Recording
from tautochrone.replay.search import bisected_steps, safe_steps, samples_of, step_of
from tautochrone.replay.session import HEAP_32_BYTES_MAX

GUESS_PART = 4096  # a guess is so close: to such a part of it


def safe_heap(
    recordings: Sequence[Recording],
    classes: Classes,
    alignment_bytes: int,
    lower_bytes: int | None = None,
    guess_bytes: int | None = None,
) -> int:
    """The least heap that holds every recording, as do all sampled above it.

    It has at least `lower_bytes`, where the search then starts. `guess_bytes` is close to the
    smallest that holds. Raises TauError if there is none.
    """
    found, given = 0, (alignment_bytes, lower_bytes, guess_bytes)
    for found in progress(_steps(recordings, classes, *given), "safe heap"):
        pass
    if not found:
        most = _most(recordings)
        is_32 = most == HEAP_32_BYTES_MAX
        raise TauError(
            f"no heap up to {most:,} bytes holds every recording",
            "plan with --layout host" if is_32 else "make a plan for each recording",
        )
    return found


def safe_heap_below(
    recordings: Sequence[Recording],
    classes: Classes,
    alignment_bytes: int,
    useful_bytes: int,
    guess_bytes: int | None = None,
    samples: int | None = None,
) -> int:
    """As safe_heap, if that is at most `useful_bytes`; else 0, often seen after few replays.

    `guess_bytes` is close to the smallest heap that holds. `samples`: other than a safe heap's.
    """
    found, given = 0, (guess_bytes, useful_bytes, samples)
    for found in _steps(recordings, classes, alignment_bytes, None, *given):
        pass
    return found


def _steps(
    recordings: Sequence[Recording],
    classes: Classes,
    alignment_bytes: int,
    lower_bytes: int | None,
    guess_bytes: int | None = None,
    useful_bytes: int | None = None,
    samples: int | None = None,
) -> Iterator[int]:
    least = max(recording.lowest_bytes for recording in recordings)
    return safe_steps(
        functools.partial(_all_hold, recordings, classes),
        lower_bytes or least,
        _most(recordings),
        samples or samples_of(sum(recording.events for recording in recordings)),
        guess_bytes or lower_bytes,
        step_of(least, alignment_bytes),
        useful_bytes,
        guess_bytes // GUESS_PART if guess_bytes else 0,
    )


def _all_hold(
    recordings: Sequence[Recording], classes: Classes, sizes: Sequence[int]
) -> Iterator[bool]:
    """Whether each size holds every recording, one after the other."""
    each_holds = (recording.all_hold(classes, sizes) for recording in recordings)
    return map(all, zip(*each_holds, strict=False))


def _most(recordings: Sequence[Recording]) -> int:
    return min(recording.highest_bytes for recording in recordings)


def bisect_ahead(
    recordings: Sequence[Recording], classes: Classes, alignment_bytes: int, guess_bytes: int
) -> None:
    """Make the replays with which safe_heap begins, with the same guess."""
    steps = bisected_steps(
        lambda size: all(_all_hold(recordings, classes, [size])),
        max(recording.lowest_bytes for recording in recordings),
        _most(recordings),
        guess_bytes,
        step_of(max(each.lowest_bytes for each in recordings), alignment_bytes),
        descent_bytes=guess_bytes // GUESS_PART,
    )
    for _ in progress(steps, f"heap {'with' if classes else 'without'} pools"):
        pass


def bisected_heap(
    recording: Recording, classes: Classes, guess_bytes: int | None = None, step_bytes: int = 0
) -> int:
    """A heap that holds one recording, while a step less does not."""
    least, most = recording.lowest_bytes, recording.highest_bytes
    found, step = 0, step_bytes or step_of(least)

    def holds(size: int) -> bool:
        return all(recording.all_hold(classes, [size]))

    for found in bisected_steps(holds, least, most, guess_bytes, step):
        pass
    if not found:
        raise TauError(f"no heap up to {most:,} bytes holds the recording")
    return found

"""What a planner asks of a recording.

How far it gets with a plan in a heap of some size. One run of the replayer each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tautochrone.errors import TauError
from tautochrone.plan.file import PlanClass

if TYPE_CHECKING:
    from tautochrone.replay.session import Session

Classes = tuple[PlanClass, ...]


class Recording(Protocol):
    """A recording that can be replayed; `smallest_heap` is the definition of tautochrone.search."""

    events: int
    lowest_bytes: int
    highest_bytes: int

    def completed(self, classes: Classes, heap_bytes: int) -> int:
        """The number of events that succeed with `classes` (none: plain TLSF) in `heap_bytes`."""
        ...

    def smallest_heap(self, classes: Classes) -> int:
        """The smallest heap in which all events succeed, as `tau replay` finds it."""
        ...


@dataclass(frozen=True)
class _Classes:
    """What the replayer reads of a plan."""

    classes: Classes


class ReplayedRecording:
    """A recording in the replayer, decoded once; `replays` counts all runs of it so far."""

    def __init__(self, path: Path, layout: str) -> None:
        from tautochrone.replay import opened, session

        self.replays = 0
        self._smallest_bytes: dict[Classes, int] = {}
        self.layout = layout
        self.trace = opened.open_trace_for_replay(path)
        self.events = int(self.trace.facts.events)
        self.lowest_bytes = int(self.trace.facts.peak_live_bytes)
        self.highest_bytes = (
            session.HEAP_32_BYTES_MAX if layout == "32" else session.HEAP_HOST_BYTES_MAX
        )
        if self.lowest_bytes > self.highest_bytes:
            raise TauError(
                f"{path}: {self.lowest_bytes:,} live bytes do not fit into a heap of the layout"
                f" {layout} (at most {self.highest_bytes:,})",
                "plan with --layout host" if layout == "32" else None,
            )

    def completed(self, classes: Classes, heap_bytes: int) -> int:
        """See Recording."""
        from tautochrone.facts.fault_format import COMPLETED

        with self._session(classes) as session:
            result = session.run(heap_bytes, checked=False)
            self.replays += session.runs
        return self.events if result.fault == COMPLETED else int(result.fault_event)

    def smallest_heap(self, classes: Classes) -> int:
        """See Recording; the same classes are searched once."""
        if classes not in self._smallest_bytes:
            with self._session(classes) as session:
                self._smallest_bytes[classes] = session.smallest_heap()
                self.replays += session.runs
        return self._smallest_bytes[classes]

    def _session(self, classes: Classes) -> Session:
        from tautochrone.replay.session import Session
        from tautochrone.replay.systems.native import BUDGET, TLSF

        plan = _Classes(classes) if classes else None
        return Session(self.trace, BUDGET if classes else TLSF, plan, self.layout)


def held_by_all(
    recordings: Sequence[Recording], classes: Classes, heap_bytes: int, alignment_bytes: int
) -> int:
    """A heap of at least `heap_bytes` in which every recording was seen to complete [PLAN-6].

    A larger heap can place blocks elsewhere and fail, so a size that was not tried on a recording
    is not trusted: it grows by 1/1024 of itself until all complete. One replay a recording and
    step. Raises TauError if none up to the largest heap of the layout holds them all.
    """
    step = max(alignment_bytes, heap_bytes >> 10 & -alignment_bytes)
    most = min((recording.highest_bytes for recording in recordings), default=heap_bytes)
    while not all(
        recording.completed(classes, heap_bytes) == recording.events for recording in recordings
    ):
        heap_bytes += step
        if heap_bytes > most:
            raise TauError(
                f"no heap up to {most:,} bytes was seen to hold every recording",
                "plan the recordings apart",
            )
    return heap_bytes


def common_heap(
    recordings: Sequence[Recording],
    classes: Classes,
    smallest_bytes: Sequence[int],
    alignment_bytes: int,
) -> int:
    """The heap for all recordings, of which each alone needs its entry of `smallest_bytes`.

    That is the largest of them or, where another recording was seen not to complete in it, more.
    """
    most = max(smallest_bytes, default=0)
    if all(smallest == most for smallest in smallest_bytes):
        return most
    return held_by_all(recordings, classes, most, alignment_bytes)


class Meter:
    """Counts what replays cost, so that a search is bounded by work and not by the clock.

    Equal input, equal plan.
    """

    def __init__(
        self, replays_max: int, events_max: int, tick: Callable[[], None] = lambda: None
    ) -> None:
        self.replays_left = replays_max
        self.events_left = events_max
        self.replays = 0
        self._tick = tick

    @property
    def exhausted(self) -> bool:
        """Whether the search must end."""
        return self.replays_left <= 0 or self.events_left <= 0

    def completed(self, recording: Recording, classes: Classes, heap_bytes: int) -> int:
        """As Recording.completed, counted."""
        done = recording.completed(classes, heap_bytes)
        self.replays += 1
        self.replays_left -= 1
        self.events_left -= done
        self._tick()
        return done

    def smallest(
        self, recording: Recording, classes: Classes, events: int, low: int, high: int, step: int
    ) -> int:
        """By bisection, a heap in which the first `events` succeed while `step` bytes less fail.

        `low` is known to fail. If `high` fails, larger ones are tried, up to the recording's limit;
        0 if that fails too.
        """
        while self.completed(recording, classes, high) < events:
            if high >= recording.highest_bytes:
                return 0
            low, high = high, min(high + (high - low) * 2 + step, recording.highest_bytes)
        while high - low > step:
            middle = (low + high) // 2 // 8 * 8
            if middle <= low or middle >= high:
                break
            if self.completed(recording, classes, middle) >= events:
                high = middle
            else:
                low = middle
        return high

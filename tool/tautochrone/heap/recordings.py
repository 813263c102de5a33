"""A recording as planners see it: how far it gets with given classes in a given heap.

Each answer is one run of the replayer.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Protocol

from tautochrone.machine.core_build import Build
from tautochrone.errors import TauError
from tautochrone.plan.file import PlanClass
from tautochrone.replay.search import bisected_steps

if TYPE_CHECKING:
    from tautochrone.replay.open_trace import OpenTrace
    from tautochrone.replay.session import Session
    from tautochrone.trace.file import TraceReader

Classes = tuple[PlanClass, ...]
EVENTS_SHARED_MIN = 50_000  # a shorter recording is replayed sooner than a thread starts


class Recording(Protocol):
    """A recording that can be replayed."""

    events: int
    lowest_bytes: int
    highest_bytes: int

    def completed(self, classes: Classes, heap_bytes: int) -> int:
        """The number of events that succeed with `classes` (none: plain TLSF) in `heap_bytes`.

        -1: the allocator cannot start in so few.
        """
        ...

    def all_hold(self, classes: Classes, sizes: Sequence[int]) -> Iterator[bool]:
        """Whether each heap holds all events, in this order, which are replayed ahead."""
        ...


class ReplayedRecording:
    """A recording in the replayer, decoded once. `replays` counts its runs.

    A run is remembered, because a threshold samples sizes that another one has sampled.
    """

    def __init__(
        self,
        trace: Path | TraceReader | OpenTrace,
        layout: str,
        build: Build = Build(),
    ) -> None:
        from tautochrone.replay import open_trace, session

        self.replays = 0
        self._completed: dict[tuple[Classes, int], int] = {}
        self._ahead: dict[tuple[Classes, int], int] = {}  # replayed, not asked for yet
        self._sessions: dict[OpenTrace, tuple[Classes, Session]] = {}  # the last of each
        self._least_bytes: dict[Classes, int] = {}
        self.layout, self.build = layout, build
        self.check_level, self.alignment = build.check_level, build.alignment_in(layout)
        self.trace = open_trace.open_trace_for_replay(trace)
        self.events = int(self.trace.facts.events)
        self.alignment_bytes = 1 << int(self.trace.facts.align_log2_max)
        self.lowest_bytes = int(self.trace.facts.peak_live_bytes)
        self.highest_bytes = (
            session.HEAP_32_BYTES_MAX if layout == "32" else session.HEAP_HOST_BYTES_MAX
        )
        if self.lowest_bytes > self.highest_bytes:
            raise TauError(
                f"{self.trace.path}: {self.lowest_bytes:,} live bytes do not fit into a heap of the"
                f" layout {layout} (at most {self.highest_bytes:,})",
                "plan with --layout host" if layout == "32" else None,
            )

    def __del__(self) -> None:
        for _, session in getattr(self, "_sessions", {}).values():
            session.close()

    def completed(self, classes: Classes, heap_bytes: int) -> int:
        """See Recording."""
        known = (classes, heap_bytes)
        if known not in self._completed:
            if known not in self._ahead:
                self._ahead[known] = self._run(self._session(self.trace, classes), heap_bytes)
            self._completed[known] = self._ahead.pop(known)
            self.replays += 1
        return self._completed[known]

    def _least(self, classes: Classes) -> int:
        """No smaller heap holds the recording: its blocks alone take as much."""
        if classes not in self._least_bytes:
            self._least_bytes[classes] = self._session(self.trace, classes).least_bytes
        return self._least_bytes[classes]

    def _run(self, session: Session, heap_bytes: int) -> int:
        from tautochrone.facts import fault_format

        result = session.run(heap_bytes, checked=False)
        if result.fault == fault_format.INIT_FAILED:
            return -1  # not even a recording without events holds
        return self.events if result.fault == fault_format.COMPLETED else int(result.fault_event)

    def all_hold(self, classes: Classes, sizes: Sequence[int]) -> Iterator[bool]:
        """See Recording. On all processors, one size each at a time.

        What is replayed ahead counts when it is asked for. Sizes that the blocks alone exceed take
        no replay.
        """
        least = self._least(classes)
        if self.events < EVENTS_SHARED_MIN or len(sizes) == 1:
            for size in sizes:
                yield size >= least and self.completed(classes, size) == self.events
            return
        lanes = [self.trace, *self._twins]
        sessions = [self._session(each, classes) for each in lanes]
        with ThreadPoolExecutor(len(lanes)) as pool:
            for first in range(0, len(sizes), len(lanes)):
                wave = sizes[first : first + len(lanes)]
                unknown = [size for size in wave if not self._is_known((classes, size))]
                done = pool.map(self._run, sessions, unknown)
                for size, events in zip(unknown, done, strict=True):
                    self._ahead[classes, size] = events
                for size in wave:
                    yield self.completed(classes, size) == self.events

    def twin(self) -> ReplayedRecording | None:
        """The same recording for another thread; None if nothing decoded can be shared."""
        trace = self.trace.twin()
        return ReplayedRecording(trace, self.layout, self.build) if trace else None

    def learn(self, other: ReplayedRecording) -> None:
        """Take over another one's replays, which count when they are asked for."""
        self._ahead |= other._completed

    def _is_known(self, run: tuple[Classes, int]) -> bool:
        return run in self._completed or run in self._ahead

    @functools.cached_property
    def _twins(self) -> list[OpenTrace]:
        others = range(_processors() - 1)
        return list(filter(None, (self.trace.twin() for _ in others)))

    def _session(self, trace: OpenTrace, classes: Classes) -> Session:
        """A session of the classes. It is closed when one of other classes is asked for."""
        from tautochrone.replay.session import Session
        from tautochrone.replay.systems.native import BUDGET, TLSF

        last, session = self._sessions.get(trace, (None, None))
        if session is None or last != classes:
            if session is not None:
                session.close()
            arena = BUDGET if classes else TLSF
            plan = SimpleNamespace(classes=classes)
            session = Session(trace, arena, plan, self.layout, self.check_level, self.alignment)
            self._sessions[trace] = (classes, session)
        return session


@contextmanager
def replayed_ahead(
    recordings: Sequence[ReplayedRecording],
    work: Callable[[Sequence[ReplayedRecording]], object],
) -> Iterator[None]:
    """Do `work` on twins of the recordings in another thread; afterwards its replays are known."""
    twins = [each.twin() for each in recordings] if _processors() > 1 else [None]
    if not all(twins):
        yield
        return
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work, twins)
        yield
        done.result()
    for recording, twin in zip(recordings, twins, strict=True):
        recording.learn(twin)


def _processors() -> int:
    return len(os.sched_getaffinity(0))


class SearchEnded(Exception):
    """Raised by the `tick` of a meter: the search is to end with what it has found."""


class Meter:
    """Counts the cost of replays, so that work bounds a search and not the clock.

    So equal input gives an equal plan, unless `tick` ended the search.
    """

    def __init__(
        self, replays_max: int, events_max: int, tick: Callable[[], None] = lambda: None
    ) -> None:
        self.replays_left = replays_max
        self.events_left = events_max
        self.replays = 0
        self.is_ended = False
        self._tick = tick

    @property
    def exhausted(self) -> bool:
        """Whether the work of the search is used up, or the search was ended."""
        return self.is_ended or self.replays_left <= 0 or self.events_left <= 0

    def completed(self, recording: Recording, classes: Classes, heap_bytes: int) -> int:
        """As Recording.completed, counted."""
        done = recording.completed(classes, heap_bytes)
        self.replays += 1
        self.replays_left -= 1
        self.events_left -= done
        try:
            self._tick()
        except SearchEnded:
            self.is_ended = True
        return done

    def smallest(
        self,
        recording: Recording,
        classes: Classes,
        events: int,
        lower_bytes: int,
        guess_bytes: int,
        within_bytes: int,
    ) -> int:
        """A heap in which the first `events` succeed, while up to `within_bytes` less is too small.

        None below `lower_bytes` is tried. 0: the largest heap of the recording is too small.
        """
        found = 0
        for found in bisected_steps(
            lambda size: self.completed(recording, classes, size) >= events,
            lower_bytes,
            recording.highest_bytes,
            guess_bytes,
            within_bytes=within_bytes,
        ):
            pass
        return found

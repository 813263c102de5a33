"""A recording as planners see it: what it needs with given classes.

Each answer is one run of the replayer, or a few (replay/threshold.py).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tautochrone.machine.core_build import Build
from tautochrone.errors import TauError
from tautochrone.plan.file import PlanClass
from tautochrone.replay.search import most_of

if TYPE_CHECKING:
    from tautochrone.replay.open_trace import OpenTrace
    from tautochrone.replay.session import Session
    from tautochrone.trace.file import TraceReader

Classes = tuple[PlanClass, ...]
GUESS = 2  # a heap of so many times the peak is replayed first


class Run(NamedTuple):
    """How a recording fared in a heap.

    `events` succeeded. `needed_bytes` is the least heap with equal tables and equal places, and
    `prefix_bytes` has the same of the first k + 1 sixteenths of the events; 0 and () if an event
    failed, or if a larger heap may place objects elsewhere.
    """

    events: int
    needed_bytes: int = 0
    prefix_bytes: tuple[int, ...] = ()


class Recording(Protocol):
    """A recording that can be replayed."""

    events: int
    lowest_bytes: int
    highest_bytes: int

    def run(self, classes: Classes, heap_bytes: int) -> Run:
        """Replay with `classes` (none: plain TLSF) in `heap_bytes`."""
        ...

    def threshold(self, classes: Classes, guess_bytes: int = 0, least_bytes: int = 0) -> int:
        """The size from which on every heap holds (replay/threshold.py); 0: there is none.

        A run in `guess_bytes` was made before. Where a larger heap may fail, the size is at least
        `least_bytes`.
        """
        ...


class ReplayedRecording:
    """A recording in the replayer, decoded once. `replays` counts its runs, which it remembers."""

    def __init__(
        self,
        trace: Path | TraceReader | OpenTrace,
        layout: str,
        build: Build = Build(),
    ) -> None:
        from tautochrone.replay import open_trace, session

        self.replays = 0
        self._runs: dict[tuple[Classes, int], Run] = {}
        self._session_of: tuple[Classes, Session] | None = None  # the last one
        self.layout, self.build = layout, build
        self.check_level, self.alignment = build.check_level, build.alignment_in(layout)
        self.trace = open_trace.open_trace_for_replay(trace)
        self.events = int(self.trace.facts.events)
        self.alignment_bytes = 1 << int(self.trace.facts.align_log2_max)
        self.lowest_bytes = int(self.trace.facts.peak_live_bytes)
        most = session.HEAP_32_BYTES_MAX if layout == "32" else session.HEAP_HOST_BYTES_MAX
        self.highest_bytes = most_of(self.lowest_bytes + self.alignment_bytes, most)
        if self.lowest_bytes > most:
            raise TauError(
                f"{self.trace.path}: {self.lowest_bytes:,} live bytes do not fit into a heap of the"
                f" layout {layout} (at most {most:,})",
                "plan with --layout host" if layout == "32" else None,
            )

    def __del__(self) -> None:
        if getattr(self, "_session_of", None) is not None:
            self._session_of[1].close()

    def run(self, classes: Classes, heap_bytes: int) -> Run:
        """See Recording."""
        known = (classes, heap_bytes)
        if known not in self._runs:
            self._runs[known] = self._run(self._session(classes), heap_bytes)
            self.replays += 1
        return self._runs[known]

    def completed(self, classes: Classes, heap_bytes: int) -> int:
        """The number of events that succeed; -1: the allocator cannot start in so few bytes."""
        return self.run(classes, heap_bytes).events

    def threshold(self, classes: Classes, guess_bytes: int = 0, least_bytes: int = 0) -> int:
        """See Recording."""

        def needed(heap_bytes: int) -> int | None:
            run = self.run(classes, heap_bytes)
            return run.needed_bytes if run.events == self.events else None

        sizes = (guess_bytes or GUESS * self.lowest_bytes, self.highest_bytes, least_bytes)
        return self._session(classes).threshold(needed, *sizes)

    def _run(self, session: Session, heap_bytes: int) -> Run:
        from tautochrone.facts import fault_format

        result = session.run(heap_bytes, checked=False)
        if result.fault == fault_format.INIT_FAILED:
            return Run(-1)  # not even a recording without events holds
        if result.fault != fault_format.COMPLETED:
            return Run(int(result.fault_event))
        needed_bytes = int(result.needed_bytes)
        return Run(self.events, needed_bytes, tuple(result.prefix_bytes) if needed_bytes else ())

    def _session(self, classes: Classes) -> Session:
        """A session of the classes. It is closed when one of other classes is asked for."""
        from tautochrone.replay.session import Session
        from tautochrone.replay.systems.native import BUDGET, TLSF

        if self._session_of is None or self._session_of[0] != classes:
            given = (SimpleNamespace(classes=classes), self.layout, self.check_level)
            arena = BUDGET if classes else TLSF
            before = self._session_of  # closed last: the libraries stay loaded
            self._session_of = classes, Session(self.trace, arena, *given, self.alignment)
            if before is not None:
                before[1].close()
        return self._session_of[1]


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

    def run(self, recording: Recording, classes: Classes, heap_bytes: int) -> Run:
        """As Recording.run, counted."""
        run = recording.run(classes, heap_bytes)
        self.replays += 1
        self.replays_left -= 1
        self.events_left -= run.events
        try:
            self._tick()
        except SearchEnded:
            self.is_ended = True
        return run

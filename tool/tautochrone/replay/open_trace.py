"""A trace that is open for replays. It is decoded once for all systems and runs.

The work is done in C (tool/native/replay/replay.h). A trace that is given as a path is kept for
later calls of this process.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tautochrone import native
from tautochrone.console.bars import progress
from tautochrone.errors import TauError
from tautochrone.facts import trace_format
from tautochrone.trace.ending import misuse_error

if TYPE_CHECKING:
    from tautochrone.trace.file import TraceReader

OPS_IN_MEMORY_MAX = 1 << 24
TICK_S = 0.2
Work = TypeVar("Work")

OPERATIONS = ("malloc", "calloc", "realloc", "aligned_alloc", "free")


class OpenTrace:
    """A decoded trace, ready for replay. It keeps its arena between runs.

    `header`, `totals` and `ending` are the file's (tautochrone.trace). A trace that is too
    long for memory is read through `reader` again, which therefore stays open.
    """

    def __init__(
        self, trace: Path | TraceReader, ops_in_memory_max: int = OPS_IN_MEMORY_MAX
    ) -> None:
        from tautochrone.trace.file import open_trace

        self.whole: OpenTrace | None = None  # the trace that this is a part of
        self.reader = open_trace(trace) if isinstance(trace, Path) else trace
        self.path = self.reader.path
        refusal = native.struct("tau_replay_refusal")()
        self.handle = native.library().tau_replay_open(
            self.reader.handle, ops_in_memory_max, refusal
        )
        if not self.handle and refusal.is_too_large:
            raise too_large(self.path, refusal.event)
        if not self.handle:
            text = native.library().tau_trace_status_text(refusal.status).decode()
            raise TauError(f"{self.path}: {text}", f"tau check {self.path}")
        self.facts = native.library().tau_replay_facts(self.handle).contents
        self.header, self.totals = self.reader.header, self.reader.totals
        self.ending = self.reader.ending

    def part(self, first: int, end: int) -> OpenTrace:
        """The events from `first` to before `end`, after allocations of what is alive at `first`.

        Raises TauError if memory is short.
        """
        handle = native.library().tau_replay_part(self.handle, first, end)
        if not handle:
            raise TauError(f"{self.path}: not enough memory for a part of it")
        other = copy.copy(self)
        other.whole, other.handle = self, handle
        other.facts = native.library().tau_replay_facts(handle).contents
        return other

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            native.library().tau_replay_close(self.handle)
            self.handle = None

    def operations(self) -> dict[str, int]:
        """Events by operation, in the order of OPERATIONS, without touches."""
        counts = (int(count) for count in self.facts.events_of_op)
        return dict(zip(OPERATIONS, counts, strict=False))

    def call_at(self, event: int) -> str:
        """The call of an event in words."""
        from tautochrone.trace.file import OPS

        blocks = range(self.totals.blocks)
        block = next((b for b in reversed(blocks) if self.reader.first_event(b) <= event), None)
        if block is None:
            return "the first call"
        columns = next(self.reader.columns(("op", "size_bytes"), block))
        at = event - self.reader.first_event(block)
        op = OPS[int(columns.op[at])]
        return op if op == "free" else f"{op} of {int(columns.size_bytes[at]):,} bytes"

    def document(self) -> dict[str, int]:
        """Return the facts of the trace for --json."""
        return {
            "events": int(self.facts.events),
            "touches": self.touches,
            "skipped_events": int(self.facts.skipped),
            "peak_live_bytes": int(self.facts.peak_live_bytes),
        }

    @property
    def touches(self) -> int:
        """The number of events that record an access."""
        return int(self.facts.events_of_op[trace_format.OP_TOUCH])


def too_large(path: Path, event: int) -> TauError:
    """Return the error of a recording whose objects no machine has room for."""
    return TauError(
        f"{path}: event {event} requests more memory than any machine has",
        "a size near the largest integer is a failed allocation; remove it from the recording",
    )


@functools.lru_cache(maxsize=4)
def _opened(path: Path, resolved: Path, modified_ns: int, size_bytes: int) -> OpenTrace:
    return OpenTrace(path)


def open_trace_for_replay(trace: str | Path | TraceReader | OpenTrace) -> OpenTrace:
    """Decode a trace, or return it from the last four paths, or return the given open trace.

    Raises TauError if it cannot be read.
    """
    if isinstance(trace, OpenTrace):
        return trace
    if not isinstance(trace, (str, Path)):
        return OpenTrace(trace)
    path = Path(trace)
    try:
        resolved = path.resolve()
        stat = resolved.stat()
    except (OSError, ValueError):
        return OpenTrace(path)  # Which says why it cannot be opened.
    return _opened(path, resolved, stat.st_mtime_ns, stat.st_size)


def with_progress(work: Callable[[], Work], label: str) -> Work:
    """Do `work`, which reports no progress, under a progress bar if it takes long."""
    if not sys.stderr.isatty():
        return work()

    def ticks(future: Future[Work]) -> Iterator[None]:
        while not wait([future], TICK_S).done:
            yield

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        for _ in progress(ticks(future), label):
            pass
        return future.result()


def refuse_misuse(trace: OpenTrace, skip_misuse: bool) -> None:
    """Raise TauError if the trace has frees of no live object, unless they are to be skipped."""
    refusal = None if skip_misuse else misuse_error(trace.path, trace.header, trace.totals)
    if refusal is not None:
        raise refusal

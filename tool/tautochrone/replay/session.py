"""An allocator in an arena, prepared for one trace: its runs and the search for its heap.

The work is done in C (tool/native/replay/replay.h).
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tautochrone import native
from tautochrone.machine.core_build import ALIGNMENT_BYTES, Build
from tautochrone.declarations import Struct
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import fault_format as faults
from tautochrone.facts import status_format
from tautochrone.replay import open_trace
from tautochrone.replay.search import (
    RESOLUTION_BYTES,
    bisected_steps,
    last_of,
    most_of,
    safe_steps,
    samples_of,
    step_of,
)
from tautochrone.replay.threshold import Heaps, Tables, threshold

if TYPE_CHECKING:
    import numpy as np

HEAP_32_BYTES_MAX = 1 << 30  # The largest pool of a 32-bit layout.
HEAP_HOST_BYTES_MAX = 1 << 44
LAYOUTS = ("32", "host")
GUESS = 2  # a heap of so many times the peak is tried first
CALL_SECONDS_MAX = 10  # Of a library's call, which takes longer only if it never returns.
ALIGNMENT_FOREIGN_BYTES = 8
FOREIGN_STEP = "mend the library: core/ports/library.h states what its functions must do"
OUR_STEP = "report this allocator"
OURS = ("tau_tlsf", "tau_budget")  # prefixes of the heaps that placing.h knows
KINDS = {"budget": 1, "pools": 2}  # enum tau_system_kind, of the arenas that take a plan.


@dataclass(frozen=True)
class Arena:
    """An allocator that gets its memory as one arena.

    It is in `library` (`{bits}` is 32, 32_align4 or 64, `{level}` a check level above 0) with
    functions `prefix`_init, _malloc and so on, or it is built in and `opener` opens it. With
    `needs_plan` it takes a plan's classes; without classes it runs as `prefix_without_classes`.
    `grows`: it takes memory on demand, so one run gives the footprint without a search.
    `is_foreign`: the library is of other people (core/ports/library.h), and runs by itself.
    """

    name: str
    library: str = ""
    prefix: str = ""
    opener: str = ""
    opener_takes_trace: bool = False
    needs_plan: bool = False
    prefix_without_classes: str = ""
    grows: bool = False
    is_foreign: bool = False


def failure(
    trace: open_trace.OpenTrace, name: str, meaning: str, event: int, heap_bytes: int
) -> TauError:
    """Return the error of a system that erred at an event."""
    where = f"at event {event:,} ({trace.call_at(event)}), in a heap of {heap_bytes:,} bytes"
    return TauError(f"{name} {meaning} {where}", FOREIGN_STEP if ":" in name else OUR_STEP)


def needs_plan(name: str, trace: Path) -> TauError:
    """Return the error of a system without a plan."""
    way, of = (" --guarantee", " made with --guarantee") if name == "pools" else ("", "")
    return TauError(
        f"{name} needs a plan{of}",
        f"tau plan {trace}{way} -o plan.toml, then give --plan plan.toml",
        EXIT_USAGE,
    )


@functools.cache
def _library(name: str, words: str, level: int) -> Path:
    """The path of an arena's library. Raises TauError if the installation lacks it."""
    path = Path(name.format(bits=words, level=f"_check{level}" if level else ""))
    return path if path.is_absolute() else native.file(path.name)


class Session:
    """A system prepared for one trace: runs and searches. A context manager.

    The core is built at `check_level` (default: the plan's, else the core's own default), which
    decides a heap's control bytes, and with `alignment` (default: the plan's, else the layout's).
    `runs` counts the runs.
    """

    def __init__(
        self,
        trace: open_trace.OpenTrace,
        arena: Arena,
        plan: Any | None = None,
        layout: str = "32",
        check_level: int | None = None,
        alignment: int | None = None,
    ) -> None:
        if layout not in LAYOUTS:
            raise TauError(
                f"layout {layout!r} is unknown", f"use one of {', '.join(LAYOUTS)}", EXIT_USAGE
            )
        self.trace = trace
        self.arena = arena
        self.layout = layout
        planned = getattr(plan, "check_level", Build().check_level)
        self.check_level = planned if check_level is None else check_level
        unit = getattr(plan, "alignment_unit", ALIGNMENT_BYTES[layout])
        self.alignment = unit if alignment is None else alignment
        self.heap_bytes_max = HEAP_32_BYTES_MAX if layout == "32" else HEAP_HOST_BYTES_MAX
        self.runs = 0
        self.is_ours = False
        self.handle = self._open(plan)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the system's memory."""
        if self.handle:
            native.library().tau_system_close(self.handle)
            self.handle = None

    def _open(self, plan: Any | None) -> Any:
        if self.arena.opener:
            given = [self.trace.handle] if self.arena.opener_takes_trace else []
            handle = getattr(native.library(), self.arena.opener)(*given)
            if not handle:
                raise TauError(f"{self.arena.name} cannot start: not enough memory")
            return handle
        if self.arena.is_foreign:
            path = os.fsencode(self.arena.library)
            handle = native.library().tau_system_library_open(path, ALIGNMENT_FOREIGN_BYTES)
            if not handle:
                raise TauError(f"{self.arena.name} cannot start: not enough memory")
            return handle
        return self._open_core(plan)

    def _open_core(self, plan: Any | None) -> Any:
        pairs: list[int] = []
        if self.arena.needs_plan:
            if plan is None:
                raise needs_plan(self.arena.name, self.trace.path)
            made_for = getattr(plan, "layout", self.layout)
            if made_for != self.layout:
                raise TauError(
                    f"the plan was made for the layout {made_for}, not for {self.layout}",
                    f"replay with --layout {made_for}, or plan again",
                    EXIT_USAGE,
                )
            pairs = [
                number
                for size_bytes, count in plan.classes
                for number in (int(size_bytes), int(count))
            ]
            if any(number >= 1 << 32 for number in pairs):
                raise TauError(
                    "the plan has a class beyond 32 bits", "make the plan again with `tau plan`"
                )
            is_for = getattr(plan, "system", "budget")
            if is_for != self.arena.name and (pairs or not self.arena.prefix_without_classes):
                raise TauError(
                    f"the plan is for {is_for}, not for {self.arena.name}",
                    f"replay it with --on {is_for}",
                    EXIT_USAGE,
                )
        # A plan without classes is a plain TLSF [PLAN-7], without the cost of a budget's tables.
        has_classes = self.arena.needs_plan and len(pairs) > 0
        # A TLSF lays everything out at level 1 as at level 0, which is faster.
        level = self.check_level if self.check_level > 1 or has_classes else 0
        words = "32" if self.layout == "32" else "64"
        if self.alignment != ALIGNMENT_BYTES[self.layout]:
            words += f"_align{self.alignment}"
        path = _library(self.arena.library, words, level)
        import numpy as np

        cause = ctypes.c_char_p()
        prefix = self.arena.prefix
        if self.arena.needs_plan and not has_classes:
            prefix = self.arena.prefix_without_classes
        handle = native.library().tau_system_core_open(
            os.fsencode(path),
            prefix.encode(),
            KINDS[self.arena.name] if has_classes else 0,
            np.array(pairs, np.uint32),
            len(pairs) // 2,
            self.alignment,
            getattr(plan, "alignment_bytes", 0),
            cause,
        )
        if not handle:
            raise TauError(f"{self.arena.name}: {(cause.value or b'').decode()} ({path.name})")
        self.is_ours = prefix in OURS
        if self.is_ours:
            placing = _library("libtau_placing{bits}{level}.so", words, level if level == 2 else 0)
            if not native.library().tau_system_core_place(handle, os.fsencode(placing)):
                native.library().tau_system_close(handle)
                raise TauError(f"{self.arena.name}: memory is short ({placing.name})")
        return handle

    def run(self, heap_bytes: int, checked: bool = True) -> Struct:
        """Replay in a heap of this many bytes; `checked` checks every object (replay.h)."""
        result = native.struct("tau_replay_result")()
        self.runs += 1
        given = (self.trace.handle, self.handle, heap_bytes, checked)
        if self.arena.is_foreign:
            native.library().tau_system_library_run(*given, CALL_SECONDS_MAX, result)
        else:
            native.library().tau_replay_run(*given, result)
        if result.fault in (faults.TRACE_FAILED, faults.HOST_MEMORY):
            raise TauError(f"{self.arena.name} {faults.MEANING[result.fault]}")
        if result.fault == faults.INIT_FAILED and result.init_status == status_format.PLAN_INVALID:
            raise TauError(
                "the plan is invalid: its sizes must be different and not zero",
                "find the cause with `tau check PLAN`",
            )
        return result

    def refuse_failure(self, result: Struct, heap_bytes: int) -> None:
        """Raise TauError if the system erred in a run."""
        if result.fault in (faults.COMPLETED, faults.NO_MEMORY, faults.INIT_FAILED):
            return
        meaning = faults.MEANING[result.fault]
        if result.fault == faults.NOT_LOADED:
            cause = native.library().tau_system_library_cause(self.handle) or b""
            said = cause.decode(errors="replace")
            raise TauError(f"{self.arena.name} {meaning}: {said}", FOREIGN_STEP)
        if result.fault_signal:
            meaning += f" ({signal.strsignal(result.fault_signal)})"
        raise failure(self.trace, self.arena.name, meaning, result.fault_event, heap_bytes)

    def map(self, heap_bytes: int, rows: int, columns: int) -> np.ndarray | None:
        """Return the share of live objects in each cell of the heap over time (replay.h).

        None if the trace does not complete in so many bytes.
        """
        import numpy as np

        cells = np.zeros((rows, columns), np.uint8)
        given = (self.trace.handle, self.handle, heap_bytes, rows, columns, cells)
        return cells if native.library().tau_replay_map(*given) else None

    @functools.cached_property
    def least_bytes(self) -> int:
        """No smaller heap holds the trace: its blocks alone take as much. 0 if that is unknown."""
        return int(native.library().tau_replay_least(self.trace.handle, self.handle))

    def _holds(self, heap_bytes: int) -> bool:
        if heap_bytes < self.least_bytes:
            return False
        result = self.run(heap_bytes, checked=False)
        self.refuse_failure(result, heap_bytes)
        return result.fault == faults.COMPLETED

    @functools.cached_property
    def asked_bytes(self) -> int:
        """The largest alignment that the trace asks for."""
        return 1 << int(self.trace.facts.align_log2_max)

    def tables(self, heap_bytes: int) -> Tables:
        """The tables of a heap of ours."""
        found = native.struct("tau_replay_tables")()
        is_by_level = self.asked_bytes <= self.alignment
        native.library().tau_system_core_tables(self.handle, heap_bytes, is_by_level, found)
        return Tables(*found.plain().values())

    def needed(self, heap_bytes: int) -> int | None:
        """What the trace needs with the tables of a heap of ours; see threshold.Heaps.run."""
        result = self.run(heap_bytes, checked=False)
        self.refuse_failure(result, heap_bytes)
        if result.fault != faults.COMPLETED:
            return None
        tables = self.tables(heap_bytes)
        return int(result.needed_bytes) if tables.level else tables.first_bytes

    def threshold(
        self,
        needed: Callable[[int], int | None],
        guess_bytes: int,
        limit_bytes: int,
        least_bytes: int = 0,
    ) -> int:
        """The size from which on every heap of ours holds (threshold.py); 0: there is none."""
        heaps = Heaps(
            run=needed,
            tables=functools.cache(self.tables),
            unit_bytes=self.alignment,
            limit_bytes=limit_bytes,
            asked_bytes=self.asked_bytes,
        )
        return threshold(heaps, guess_bytes, least_bytes)

    def bisected_heap(self) -> int:
        """Return a heap that holds, while a step less does not (search.py)."""
        return self._found(bisected_steps, self._holds)

    def safe_heap(self) -> int:
        """Return the heap from which on every size holds, of peers every sampled one.

        threshold.py and search.py say how.
        """
        if self.is_ours:
            least = int(self.trace.facts.peak_live_bytes)
            limit = most_of(least + self.asked_bytes, self.heap_bytes_max)
            steps = [self.threshold(functools.cache(self.needed), GUESS * least, limit)]
            return self._last_of(steps, limit)
        samples = samples_of(int(self.trace.facts.events))
        return self._found(safe_steps, functools.partial(map, self._holds), samples=samples)

    def _found(self, steps_of: Callable[..., Iterator[int]], *holds: Any, **more: int) -> int:
        """The last of the steps; the footprint of an arena that grows. TauError if none holds."""
        if self.arena.grows:
            result = self.run(self.heap_bytes_max, checked=False)
            if result.fault != faults.COMPLETED:
                cause = faults.MEANING[result.fault]
                raise TauError(
                    f"{self.arena.name} {cause} at event {result.fault_event},"
                    f" with {self.heap_bytes_max} bytes"
                )
            return int(result.footprint_bytes)
        least = int(self.trace.facts.peak_live_bytes)
        step_bytes = step_of(least, min(RESOLUTION_BYTES, self.alignment))
        steps = steps_of(*holds, least, self.heap_bytes_max, step_bytes=step_bytes, **more)
        return self._last_of(steps, most_of(least, self.heap_bytes_max))

    def _last_of(self, steps: Iterable[int], limit_bytes: int) -> int:
        step = "replay with --layout host" if self.layout == "32" else None
        return last_of(steps, self.arena.name, limit_bytes, step)

"""Replays a trace on an allocator: does it hold, in how much memory, and does the allocator err.

    replay(path, system, plan, heap_bytes)     one run; without heap_bytes, a search and then a run
    smallest_heap(path, system, plan)          only the search (see search.py)
    completes(path, system, heap_bytes, plan)  one run that does not look at contents, for searches

The work is done in C (tool/native/replay/replay.h); a trace that was opened once stays decoded for
later calls of this process.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tautochrone import native
from tautochrone.console.output import progress
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts.trace_format import OP_TOUCH
from tautochrone.replay.search import grid_sizes_of, search_steps
from tautochrone.replay.systems import SYSTEMS, System, library_system, system_named
from tautochrone.trace.file import require_trace_file

__all__ = [
    "SYSTEMS",
    "OpenTrace",
    "ReplayResult",
    "Session",
    "System",
    "completes",
    "library_system",
    "open_trace_for_replay",
    "replay",
    "smallest_heap",
    "system_named",
]

OPS_IN_MEMORY_MAX = 1 << 24
TICK_S = 0.2
Work = TypeVar("Work")
HEAP_32_BYTES_MAX = 1 << 30  # what one pool of a 32-bit layout can be
HEAP_HOST_BYTES_MAX = 1 << 44
LAYOUTS = ("32", "host")

COMPLETED, NO_MEMORY, INIT_FAILED, OUTSIDE, MISALIGNED, OVERLAPS, OVERWRITTEN = range(7)
NOT_CLEARED, FREE_REFUSED, TRACE_FAILED, HOST_MEMORY = range(7, 11)
UNMAPPED, PAGE_LOST, NO_FRAME, FAULT_REFUSED, MISCOUNTED = range(11, 16)
FAULT_TEXT = {
    NO_MEMORY: "refused a request that the heap has no room for",
    INIT_FAILED: "cannot start in a heap of this size",
    OUTSIDE: "handed out memory outside the heap",
    MISALIGNED: "handed out a misaligned object",
    OVERLAPS: "handed out memory that a live object has",
    OVERWRITTEN: "changed or lost the content of a live object",
    NOT_CLEARED: "handed out memory by calloc that is not zero",
    FREE_REFUSED: "called a proper free a misuse",
    TRACE_FAILED: "did not run: the trace cannot be read a second time",
    HOST_MEMORY: "did not run: this machine has not enough memory",
    UNMAPPED: "touched a page that is not mapped",
    PAGE_LOST: "gave a page back that a live object has touched",
    NO_FRAME: "had no frame left for a page that was touched",
    FAULT_REFUSED: "refused to map a page of a live object",
    MISCOUNTED: "counts its mapped pages wrongly",
}
PLAN_TOO_LARGE = 10  # enum tau_status
PLAN_INVALID = 11
OPERATIONS = ("malloc", "calloc", "realloc", "aligned_alloc", "free")


class _Facts(ctypes.Structure):
    """struct tau_replay_facts."""

    _fields_ = [
        ("events", ctypes.c_uint64),
        ("events_of_op", ctypes.c_uint64 * 6),
        ("skipped", ctypes.c_uint64),
        ("slots_count", ctypes.c_uint64),
        ("peak_live_bytes", ctypes.c_uint64),
        ("peak_live_objects", ctypes.c_uint64),
        ("peak_event", ctypes.c_uint64),
        ("size_bytes_max", ctypes.c_uint64),
        ("align_log2_max", ctypes.c_uint64),
    ]


class _Result(ctypes.Structure):
    """struct tau_replay_result."""

    _fields_ = [
        ("fault", ctypes.c_uint64),
        ("fault_event", ctypes.c_uint64),
        ("fault_size_bytes", ctypes.c_uint64),
        ("footprint_bytes", ctypes.c_uint64),
        ("init_status", ctypes.c_uint64),
        ("placement_hash", ctypes.c_uint64),
    ]


@dataclass
class ReplayResult:
    """What one replay showed, in bytes; `failed_at_event` counts from 0, None: it completed."""

    system: str
    layout: str
    completed: bool
    failed_at_event: int | None
    cause: str | None
    footprint_bytes: int
    peak_live_bytes: int
    events: int
    skipped: int
    operations: dict[str, int]
    placement_hash: int = 0

    @property
    def footprint_ratio(self) -> float | None:
        """Footprint over peak live payload; None for a trace that never had a live byte."""
        return self.footprint_bytes / self.peak_live_bytes if self.peak_live_bytes else None


# ---- the trace ----


def _library() -> ctypes.CDLL:
    library = native.library()
    if not getattr(library, "tau_replay_is_declared", False):
        library.tau_replay_open.restype = ctypes.c_void_p
        library.tau_replay_open.argtypes = [
            ctypes.c_char_p,
            ctypes.c_uint64,
            ctypes.POINTER(ctypes.c_int),
        ]
        library.tau_replay_facts.restype = ctypes.POINTER(_Facts)
        library.tau_replay_facts.argtypes = [ctypes.c_void_p]
        library.tau_replay_close.argtypes = [ctypes.c_void_p]
        library.tau_replay_close.restype = None
        library.tau_replay_run.argtypes = [
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_uint64,
            ctypes.c_uint32,
            ctypes.POINTER(_Result),
        ]
        library.tau_replay_run.restype = None
        library.tau_replay_dump.argtypes = [ctypes.c_void_p, ctypes.c_int]
        library.tau_system_core_open.restype = ctypes.c_void_p
        library.tau_system_core_open.argtypes = [
            ctypes.c_char_p,
            ctypes.c_char_p,
            ctypes.c_uint32,
            ctypes.POINTER(ctypes.c_uint32),
            ctypes.c_uint64,
            ctypes.c_uint64,
            ctypes.POINTER(ctypes.c_char_p),
        ]
        library.tau_system_kingsley_open.restype = ctypes.c_void_p
        library.tau_system_static_open.restype = ctypes.c_void_p
        library.tau_system_static_open.argtypes = [ctypes.c_void_p]
        library.tau_system_close.argtypes = [ctypes.c_void_p]
        library.tau_system_close.restype = None
        library.tau_trace_status_text.restype = ctypes.c_char_p
        library.tau_replay_is_declared = True
    return library


class OpenTrace:
    """A trace that is decoded and ready to be replayed; keeps its arena between runs."""

    def __init__(self, path: Path, ops_in_memory_max: int = OPS_IN_MEMORY_MAX) -> None:
        status = ctypes.c_int()
        self.handle = _library().tau_replay_open(
            os.fsencode(path), ops_in_memory_max, ctypes.byref(status)
        )
        if not self.handle:
            text = _library().tau_trace_status_text(status).decode()
            raise TauError(f"{path}: {text}", f"tau check {path}")
        self.facts: _Facts = _library().tau_replay_facts(self.handle).contents
        self.path = path

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            _library().tau_replay_close(self.handle)
            self.handle = None

    def operations(self) -> dict[str, int]:
        """Events by operation, in the order of OPERATIONS; touches are none."""
        counts = (int(count) for count in self.facts.events_of_op)
        return dict(zip(OPERATIONS, counts, strict=False))

    @property
    def touches(self) -> int:
        """Events that say that memory was accessed."""
        return int(self.facts.events_of_op[OP_TOUCH])


@functools.lru_cache(maxsize=4)
def _opened(path: Path, modified_ns: int, size_bytes: int) -> OpenTrace:
    return OpenTrace(path)


def open_trace_for_replay(path: str | Path) -> OpenTrace:
    """Decode a trace, or return one of the last four. Raises TauError if it cannot be read."""
    require_trace_file(Path(path))
    resolved = Path(path).resolve()
    try:
        stat = resolved.stat()
    except OSError as error:
        raise TauError(
            f"{path}: {error.strerror}", "give the path of a trace that `tau record` wrote"
        ) from error
    return _opened(resolved, stat.st_mtime_ns, stat.st_size)


def watched(work: Callable[[], Work], label: str) -> Work:
    """Do `work`, which does not report how far it is, under a progress bar if it takes long."""
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


def refuse_misuse(path: str | Path, skip_misuse: bool) -> None:
    """Raise TauError if the trace frees what it does not have, unless told to go on."""
    from tautochrone.trace.file import open_trace

    with open_trace(path) as reader:
        totals = reader.totals
    found = []
    if totals.unknown_count:
        found.append(
            f"{totals.unknown_count} of unknown objects (first: event {totals.unknown_first_event})"
        )
    if totals.double_free_count:
        first = totals.double_free_first_event
        found.append(f"{totals.double_free_count} double frees (first: event {first})")
    if found and not skip_misuse:
        raise TauError(
            f"{path} has frees that name no live object: {', '.join(found)}",
            "--skip-misuse goes on without them",
        )


# ---- one system on one trace ----


class Session:
    """A system made ready for one trace: runs and searches. A context manager.

    `runs` counts them.
    """

    def __init__(
        self, trace: OpenTrace, system: System, plan: Any | None = None, layout: str = "32"
    ) -> None:
        if layout not in LAYOUTS:
            raise TauError(
                f"layout {layout!r} is unknown", f"use one of {', '.join(LAYOUTS)}", EXIT_USAGE
            )
        self.trace = trace
        self.system = system
        self.layout = layout
        self.heap_bytes_max = HEAP_32_BYTES_MAX if layout == "32" else HEAP_HOST_BYTES_MAX
        self.runs = 0
        self.handle = self._open(plan)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the system's memory back."""
        if self.handle:
            _library().tau_system_close(self.handle)
            self.handle = None

    def _open(self, plan: Any | None) -> int:
        if self.system.kind == "own":
            if self.system.name == "static":
                handle = _library().tau_system_static_open(self.trace.handle)
            else:
                handle = _library().tau_system_kingsley_open()
            if not handle:
                raise TauError(f"{self.system.name} cannot start: memory is short")
            return handle
        return self._open_core(plan)

    def _open_core(self, plan: Any | None) -> int:
        pairs: list[int] = []
        if self.system.needs_plan:
            if plan is None:
                raise TauError(
                    "budget needs a plan",
                    f"tau plan {self.trace.path} -o plan.toml, then --plan plan.toml",
                    EXIT_USAGE,
                )
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
                    "the plan has a class beyond 32 bits", "make the plan anew with `tau plan`"
                )
        bits = 32 if self.layout == "32" else 64
        path = Path(self.system.library.format(bits=bits))
        if not path.is_absolute():
            native.library(path.name)  # a clear error if the installation lacks it
            path = native.DIRECTORY / path
        cause = ctypes.c_char_p()
        array = (ctypes.c_uint32 * max(len(pairs), 1))(*pairs)
        # A plan without classes is a plain TLSF [PLAN-7]: the tables of a budget would only cost.
        is_budget = self.system.needs_plan and len(pairs) > 0
        prefix = self.system.prefix
        if self.system.needs_plan and not is_budget:
            prefix = SYSTEMS["tlsf"].prefix
        handle = _library().tau_system_core_open(
            os.fsencode(path),
            prefix.encode(),
            int(is_budget),
            array,
            len(pairs) // 2,
            bits // 4,
            ctypes.byref(cause),
        )
        if not handle:
            raise TauError(f"{self.system.name}: {(cause.value or b'').decode()} ({path.name})")
        return handle

    def run(self, heap_bytes: int, checked: bool = True) -> _Result:
        """Replay in a heap of this many bytes; `checked` looks at every object (replay.h)."""
        result = _Result()
        self.runs += 1
        _library().tau_replay_run(
            self.trace.handle, self.handle, heap_bytes, int(checked), ctypes.byref(result)
        )
        if result.fault in (TRACE_FAILED, HOST_MEMORY):
            raise TauError(f"{self.system.name} {FAULT_TEXT[result.fault]}")
        if result.fault == INIT_FAILED and result.init_status == PLAN_INVALID:
            raise TauError(
                "the plan is invalid: its sizes must be different and not zero",
                "tau check the plan",
            )
        return result

    def _holds(self, heap_bytes: int) -> bool:
        result = self.run(heap_bytes, checked=False)
        if result.fault not in (COMPLETED, NO_MEMORY, INIT_FAILED):
            raise TauError(
                f"{self.system.name} {FAULT_TEXT[result.fault]} at event {result.fault_event}"
            )
        return result.fault == COMPLETED

    def smallest_heap(self, guess_bytes: int | None = None, grid_sizes: int | None = None) -> int:
        """The smallest heap as search.py defines it. Raises TauError if none holds."""
        if self.system.grows:
            result = self.run(self.heap_bytes_max, checked=False)
            if result.fault != COMPLETED:
                raise TauError(
                    f"{self.system.name} {FAULT_TEXT[result.fault]} at event {result.fault_event},"
                    f" with {self.heap_bytes_max} bytes"
                )
            return int(result.footprint_bytes)
        facts = self.trace.facts
        steps = search_steps(
            self._holds,
            int(facts.peak_live_bytes),
            self.heap_bytes_max,
            guess_bytes,
            grid_sizes_of(facts.events) if grid_sizes is None else grid_sizes,
        )
        found = 0
        for found in progress(steps, f"smallest heap of {self.system.name}"):
            pass
        if not found:
            raise TauError(
                f"{self.system.name} does not hold the trace in {self.heap_bytes_max} bytes",
                "replay with --layout host" if self.layout == "32" else None,
            )
        return found


# ---- allocators that run in a process of their own ----


def process_library(system: System) -> str | None:
    """The library to load first: "" for the C library's allocator, None if it is not installed."""
    from ctypes.util import find_library

    return find_library(system.library) if system.library else ""


def _replay_in_process(trace: OpenTrace, system: System) -> ReplayResult:
    """Peak memory of a process that carries out the trace, less what it had before."""
    preload = process_library(system)
    program = shutil.which("true")
    if preload is None or program is None:
        raise TauError(f"{system.name} is not installed", f"apt install {system.package}")
    own = str(native.DIRECTORY / "libtautochrone.so")
    facts = trace.facts
    with tempfile.TemporaryFile() as operations:
        failed = _library().tau_replay_dump(trace.handle, operations.fileno())
        if failed:
            raise TauError(
                f"cannot write the trace's operations for {system.name}: {os.strerror(failed)}"
            )
        operations.seek(0)
        environment = {
            "LD_PRELOAD": f"{preload} {own}".strip(),
            "TAU_REPLAY_CHILD": f"{facts.events} {facts.slots_count} {facts.peak_event}",
        }
        child = subprocess.run(
            [program],
            stdin=operations,
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
    fields = child.stdout.split()
    if child.returncode != 0 or len(fields) != 3:
        cause = f"the process that replays on {system.name} ended early ({child.returncode})"
        raise TauError(cause, said=child.stderr)
    baseline, peak, failed_at = (int(field) for field in fields)
    if peak == 0:
        raise TauError(
            f"{system.name} cannot be measured: this kernel offers no /proc/self/smaps_rollup"
        )
    completed = failed_at < 0
    return ReplayResult(
        system.name,
        "host",
        completed,
        None if completed else failed_at,
        None if completed else FAULT_TEXT[NO_MEMORY],
        max(peak - baseline, 0),
        int(facts.peak_live_bytes),
        int(facts.events),
        int(facts.skipped),
        trace.operations(),
    )


# ---- what others call ----


def _refuse_pages(system: System) -> None:
    if system.is_on_pages:
        raise TauError(
            f"{system.name} maps pages: it is replayed by tautochrone.paging.page_replay",
            f"tau replay T --on {system.name}",
            EXIT_USAGE,
        )
    if system.is_on_tile:
        raise TauError(
            f"{system.name} runs on the tile: it is replayed by tautochrone.tile.tile_replay",
            f"tau replay T --on {system.name}",
            EXIT_USAGE,
        )


def smallest_heap(
    trace_path: str | Path,
    system: str | System,
    plan: Any | None = None,
    layout: str = "32",
    guess_bytes: int | None = None,
    grid_sizes: int | None = None,
) -> int:
    """The smallest heap, control structures included, in which the trace completes (search.py).

    `plan` needs only `.classes`, pairs of size and count. `guess_bytes` is a size that may hold;
    `grid_sizes` says how thoroughly to look below what bisection finds (default: search.py).
    """
    chosen = system_named(system) if isinstance(system, str) else system
    _refuse_pages(chosen)
    if chosen.kind == "process":
        return _replay_in_process(open_trace_for_replay(trace_path), chosen).footprint_bytes
    with Session(open_trace_for_replay(trace_path), chosen, plan, layout) as session:
        return session.smallest_heap(guess_bytes, grid_sizes)


def plan_fields(trace_path: str | Path, done: ReplayResult, plan: Any) -> dict[str, Any]:
    """Return the plan's own heap and whether the trace completes in it, as --json says it."""
    holds = completes(trace_path, done.system, plan.heap_bytes, plan, done.layout)
    return {"plan_heap_bytes": plan.heap_bytes, "plan_holds": holds}


def completes(
    trace_path: str | Path,
    system: str | System,
    heap_bytes: int,
    plan: Any | None = None,
    layout: str = "32",
) -> bool:
    """Whether the trace completes in a heap of this size: one run, contents not looked at."""
    chosen = system_named(system) if isinstance(system, str) else system
    with Session(open_trace_for_replay(trace_path), chosen, plan, layout) as session:
        return session.run(heap_bytes, checked=False).fault == COMPLETED


def replay(
    trace_path: str | Path,
    system: str | System,
    plan: Any | None = None,
    heap_bytes: int | None = None,
    layout: str = "32",
    skip_misuse: bool = False,
) -> ReplayResult:
    """Replay a trace on a system and look at every object.

    With `heap_bytes` the heap has this size and the trace may not complete; without, the smallest
    heap is searched for first. Raises TauError for a trace with misuse (unless `skip_misuse`), a
    plan that does not fit the heap, and a system that errs.
    """
    chosen = system_named(system) if isinstance(system, str) else system
    _refuse_pages(chosen)
    refuse_misuse(trace_path, skip_misuse)
    trace = open_trace_for_replay(trace_path)
    if chosen.kind == "process":
        if heap_bytes is not None:
            raise TauError(
                f"{chosen.name} cannot be given a heap size",
                f"leave out --heap, or {chosen.name}",
                EXIT_USAGE,
            )
        return watched(lambda: _replay_in_process(trace, chosen), f"replaying on {chosen.name}")
    with Session(trace, chosen, plan, layout) as session:
        size = heap_bytes if heap_bytes is not None else session.smallest_heap()
        result = watched(lambda: session.run(size), f"replaying on {chosen.name}")
    if result.fault == INIT_FAILED and result.init_status == PLAN_TOO_LARGE:
        raise TauError(
            f"the plan does not fit a heap of {size} bytes",
            "give more with --heap, or plan again for less",
        )
    if result.fault not in (COMPLETED, NO_MEMORY, INIT_FAILED):
        raise TauError(
            f"{chosen.name} {FAULT_TEXT[result.fault]} at event {result.fault_event}",
            "report this allocator",
        )
    completed = result.fault == COMPLETED
    return ReplayResult(
        chosen.name,
        layout,
        completed,
        None if completed else int(result.fault_event),
        None if completed else FAULT_TEXT[result.fault],
        int(result.footprint_bytes) if completed else size,
        int(trace.facts.peak_live_bytes),
        int(trace.facts.events),
        int(trace.facts.skipped),
        trace.operations(),
        int(result.placement_hash),
    )

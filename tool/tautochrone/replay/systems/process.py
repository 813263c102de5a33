"""Allocators of this machine, unmodified, each in a process that replays the trace."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from tautochrone import native
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import fault_format as faults
from tautochrone.replay import open_trace
from tautochrone.replay.entry import PEER, Entry, arena_entry
from tautochrone.replay.system import Options, State, System


@dataclass(frozen=True)
class Process(System):
    """An allocator that is preloaded into a process; without `library`, the C library's.

    `package` is its Debian package.
    """

    name: str
    library: str
    package: str
    about: str
    role: str = PEER
    follows: ClassVar[frozenset[str]] = frozenset({"skip_misuse", "layout"})

    def accept(self, options: Options, trace: Path) -> None:
        """Raise TauError (usage) for a heap size: these allocators take memory on demand."""
        if options.heap_bytes is not None:
            raise TauError(
                f"{self.name} does not support --heap: it takes memory on demand",
                f"leave out --heap, or {self.name}",
                EXIT_USAGE,
            )

    def run(self, trace: open_trace.OpenTrace, options: Options) -> Entry:
        """Replay the trace in a process; the entry has the growth of its memory."""
        done = self.run_once(trace, options.plan, options.heap_bytes, "host")
        return replace(done, in_process=True, layout="host")

    def found(self) -> str | None:
        """The library to preload: "" for the C library's, None if it is not installed."""
        from ctypes.util import find_library

        return find_library(self.library) if self.library else ""

    def state(self, build: bool) -> State:
        """Whether it is installed."""
        found = self.found()
        if found is None:
            return State(False, "not installed", f"apt install {self.package}")
        return State(True, found or "the system's")

    def safe_heap(self, trace: open_trace.OpenTrace, plan: object, layout: str) -> int:
        """The memory that the process takes, without a search."""
        return self.run_once(trace, plan, None, layout).footprint_bytes

    def run_once(
        self,
        trace: open_trace.OpenTrace,
        plan: object,
        heap_bytes: int | None,
        layout: str,
    ) -> Entry:
        """Peak memory of a process that replays the trace, minus its memory before."""
        self.accept(Options(heap_bytes=heap_bytes), trace.path)
        work = functools.partial(self._carried_out, trace)
        return open_trace.with_progress(work, f"replaying on {self.name}")

    def _carried_out(self, trace: open_trace.OpenTrace) -> Entry:
        preload = self.found()
        program = shutil.which("true")
        if preload is None or program is None:
            raise TauError(f"{self.name} is not installed", f"apt install {self.package}")
        own = str(native.DIRECTORY / "libtautochrone.so")
        facts = trace.facts
        with tempfile.TemporaryFile() as operations:
            failed = native.library().tau_replay_dump(trace.handle, operations.fileno())
            if failed:
                raise TauError(
                    f"cannot write the trace's operations for {self.name}: {os.strerror(failed)}"
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
            cause = f"the process that replays on {self.name} ended early ({child.returncode})"
            raise TauError(cause, said=child.stderr)
        baseline, peak, failed_at = (int(field) for field in fields)
        if peak == 0:
            raise TauError(
                f"{self.name} cannot be measured: this kernel offers no /proc/self/smaps_rollup"
            )
        fault = faults.COMPLETED if failed_at < 0 else faults.NO_MEMORY
        taken = max(peak - baseline, 0)
        return arena_entry(trace, self.name, self.role, fault, failed_at, taken)


SYSTEMS = (
    Process("glibc", "", "libc6", "the C library's allocator, unmodified"),
    Process("mimalloc", "mimalloc", "libmimalloc2.0", "mimalloc, unmodified"),
    Process("jemalloc", "jemalloc", "libjemalloc2", "jemalloc, unmodified"),
)

"""Replays a trace: whether it completes, in how much memory, and at which instruction cost.

    entries_of(trace, systems, options)          an Entry for each system: `tau replay` prints them
    replay(path, system, plan, heap_bytes)       one run; without heap_bytes, after a search
    safe_heap(path, system, plan)                only that search (threshold.py, search.py)
    completes(path, system, heap_bytes, plan)    one run that does not check contents
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import fault_format
from tautochrone.replay.open_trace import (
    OpenTrace,
    open_trace_for_replay,
    refuse_misuse,
)
from tautochrone.replay.system import Options, System
from tautochrone.replay.systems import system_named, systems
from tautochrone.replay.systems.library import TargetLibrary
from tautochrone.replay.systems.native import Native
from tautochrone.replay.systems.process import Process
from tautochrone.trace.abi import estimate

if TYPE_CHECKING:
    from tautochrone.replay.entry import Entry

# The command line's names of the options of system.Options.
SPELLED = {
    "plan": "--plan",
    "heap_bytes": "--heap",
    "layout": "--layout",
    "isa": "--instructions",
    "build": "--build",
    "check_level": "--check-level",
    "frames": "--frames",
    "touch_all": "--touch",
    "cycles_max": "--cycles-max",
    "skip_misuse": "--skip-misuse",
}
# A system that does not follow these options is unaffected by them.
HARMLESS = ("plan", "pages", "isa", "build", "check_level", "touch_all")


def refuse_options(chosen: Sequence[System], options: Options, trace: Path) -> None:
    """Raise TauError (usage) for an option that no system follows, or that one contradicts."""
    for system in chosen:
        system.accept(options, trace)
    for name in options.given():
        if name in HARMLESS or any(name in system.follows for system in chosen):
            continue
        others = [each for each, system in systems().items() if name in system.follows]
        raise TauError(
            f"{', '.join(system.name for system in chosen)} cannot follow {SPELLED[name]}",
            f"leave it out, or add some of {', '.join(others)} to --on",
            EXIT_USAGE,
        )


def entries_of(trace: OpenTrace, names: Sequence[str], options: Options) -> list[Entry]:
    """Replay on the named systems, each once, in this order, in parallel where possible.

    Raises TauError for options that fit no system, for a trace with misuse unless it is to be
    skipped, and for a system that fails.
    """
    chosen = [system_named(name) for name in names]
    refuse_options(chosen, options, trace.path)
    refuse_misuse(trace, options.skip_misuse)
    parallel = {system.name: system for system in chosen if system.is_parallel}
    done: dict[str, Entry] = {}
    # Not in the threads: builds take half a minute, and only the main thread gets an interrupt.
    for system in parallel.values():
        system.prepare()
    if parallel:
        from tautochrone.tile.simulation import run_in_threads

        found = run_in_threads(lambda name: parallel[name].run(trace, options), list(parallel))
        done = dict(zip(parallel, found, strict=True))
    alone = {system.name: system for system in chosen if not system.is_parallel}
    for name in alone:
        alone[name].prepare()
        done[name] = alone[name].run(trace, options)
    entries = (done[name] for name in dict.fromkeys(names))
    return [replace(one, estimate=estimate(trace.header, one.layout)) for one in entries]


def _in_arena(system: str | System) -> Native | Process:
    """The system. Raises TauError (usage) if it is on pages or of a target only."""
    chosen = system_named(system) if isinstance(system, str) else system
    if not isinstance(chosen, Native | Process):
        is_library = isinstance(chosen, TargetLibrary)
        why = "is emulated" if is_library else "maps pages, so it has no safe heap"
        raise TauError(
            f"{chosen.name} {why}",
            f"tau replay TRACE --on {chosen.name}",
            EXIT_USAGE,
        )
    return chosen


def replay(
    trace_path: str | Path,
    system: str | System,
    plan: Any | None = None,
    heap_bytes: int | None = None,
    layout: str = "32",
    skip_misuse: bool = False,
) -> Entry:
    """Replay a trace on a system and check every object.

    With `heap_bytes` the heap has this size, and the trace may not complete. Without, the safe heap
    is searched for first. Raises TauError for a trace with misuse (unless `skip_misuse`), a
    plan that does not fit the heap, and a system that fails.
    """
    chosen = _in_arena(system)
    trace = open_trace_for_replay(trace_path)
    refuse_misuse(trace, skip_misuse)
    return chosen.run_once(trace, plan, heap_bytes, layout)


def safe_heap(
    trace_path: str | Path, system: str | System, plan: Any | None = None, layout: str = "32"
) -> int:
    """The heap from which on the trace completes in every size (threshold.py, search.py).

    It includes control structures. `plan` needs only `.classes`, pairs of size and count.
    """
    return _in_arena(system).safe_heap(open_trace_for_replay(trace_path), plan, layout)


def completes(
    trace_path: str | Path,
    system: str | Native,
    heap_bytes: int,
    plan: Any | None = None,
    layout: str = "32",
) -> bool:
    """Whether the trace completes in a heap of this size: one run, contents not checked."""
    chosen = _in_arena(system)
    assert isinstance(chosen, Native)
    with chosen.session(open_trace_for_replay(trace_path), plan, layout) as session:
        return session.run(heap_bytes, checked=False).fault == fault_format.COMPLETED

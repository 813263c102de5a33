"""Allocators in an arena, ours and peers, in the layout of a 32-bit target or of this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tautochrone.machine.core_build import Build
from tautochrone.errors import EXIT_LIMIT_EXCEEDED, TauError
from tautochrone.facts import fault_format as faults
from tautochrone.facts import status_format
from tautochrone.replay import open_trace
from tautochrone.replay.entry import (
    ACCESSES,
    HEAP_PARTS,
    INSTRUCTIONS,
    OURS,
    PART_COUNTS,
    PARTS,
    PEER,
    PLANNED,
    Entry,
    Measure,
    Operation,
    arena_entry,
)
from tautochrone.replay.session import Arena, Session, needs_plan
from tautochrone.replay.system import Options, System

if TYPE_CHECKING:
    from tautochrone.replay.emulator import Counts


@dataclass(frozen=True)
class Native(System):
    """An allocator in an arena; `is_counted`: the emulator can count its instructions."""

    arena: Arena
    role: str
    about: str
    is_counted: bool = False
    follows: ClassVar[frozenset[str]] = frozenset(
        {"plan", "heap_bytes", "layout", "isa", "build", "check_level", "skip_misuse"}
    )
    targets: ClassVar[tuple[str, ...]] = ("rv32", "m4")
    follows_build: ClassVar[bool] = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """The arena's name."""
        return self.arena.name

    def accept(self, options: Options, trace: Path) -> None:
        """Raise TauError (usage) if a plan is needed and there is none."""
        if self.arena.needs_plan and options.plan is None:
            raise needs_plan(self.name, trace)

    def session(
        self,
        trace: open_trace.OpenTrace,
        plan: Any = None,
        layout: str = "32",
        check_level: int | None = None,
        alignment: int | None = None,
    ) -> Session:
        """Prepare the allocator for many runs of a trace. A context manager."""
        return Session(trace, self.arena, plan, layout, check_level, alignment)

    def run(self, trace: open_trace.OpenTrace, options: Options) -> Entry:
        """Replay in the requested heap, else in the safe one."""
        plan = options.plan if self.arena.needs_plan else None
        build, layout = options.core_build, options.layout_of(trace.header)
        built = (build.check_level, build.alignment_in(layout))
        done = self.run_once(trace, plan, options.heap_bytes, layout, *built)
        counts = self.counts(trace, options, build, plan) if done.held else None
        if counts is not None:
            costs = {name: with_costs(each, counts) for name, each in done.operations.items()}
            done = replace(done, operations=costs)
        if plan is not None and done.held:
            with self.session(trace, plan, layout, *built) as session:
                run = session.run(plan.heap_bytes, checked=False)
            holds = run.fault == faults.COMPLETED
            done = replace(done, plan_heap_bytes=plan.heap_bytes, plan_holds=holds)
        return done

    def counts(
        self, trace: open_trace.OpenTrace, options: Options, build: Build, plan: Any
    ) -> Counts | None:
        """The instructions of its calls, with bounds; None if they are not to be counted."""
        if options.isa is None or not self.is_counted:
            return None
        from tautochrone.replay.emulator import count

        return count(
            *(trace, self.name, options.isa, plan, options.heap_bytes, build),
            skip_misuse=options.skip_misuse,
        )

    def run_once(
        self,
        trace: open_trace.OpenTrace,
        plan: Any,
        heap_bytes: int | None,
        layout: str,
        check_level: int | None = None,
        alignment: int | None = None,
    ) -> Entry:
        """Run once and check every object, in the safe heap unless one is given."""
        with self.session(trace, plan, layout, check_level, alignment) as session:
            size = heap_bytes if heap_bytes is not None else session.safe_heap()
            run = open_trace.with_progress(lambda: session.run(size), f"replaying on {self.name}")
            session.refuse_failure(run, size)
        if run.fault == faults.INIT_FAILED and run.init_status == status_format.PLAN_TOO_LARGE:
            raise TauError(
                f"the plan does not fit a heap of {size:,} bytes",
                "give more with --heap, or make a smaller plan",
                EXIT_LIMIT_EXCEEDED,
            )
        footprint = int(run.footprint_bytes) if run.fault == faults.COMPLETED else size
        ended = (run.fault, int(run.fault_event))
        entry = arena_entry(trace, self.name, self.role, *ended, footprint)
        laid_out = "32" if self.arena.opener else layout
        word_bytes = 4 if laid_out == "32" else 8
        parts = _heap_parts(trace.facts, run.at_peak, word_bytes, footprint) if entry.held else None
        hashed = int(run.placement_hash)
        return replace(entry, placement_hash=hashed, heap_parts=parts, layout=laid_out)

    def safe_heap(self, trace: open_trace.OpenTrace, plan: Any, layout: str) -> int:
        """The heap from which on the trace completes in every size; see Session.safe_heap."""
        with self.session(trace, plan, layout) as session:
            return session.safe_heap()

    def bounds(self, target: str, build: Build) -> Iterable[tuple[str, str, int | None]]:
        """The longest paths of our systems on one of machine.images.ISAS, in instructions and
        accesses.
        """
        if not self.is_counted:
            return
        from tautochrone.machine.longest_path import (
            UNUSED_FUNCTIONS,
            accesses_bound_of_image,
            bound_of_image,
        )
        from tautochrone.machine.images import FUNCTIONS, core_image

        image = core_image(self.name, target, build)
        without = UNUSED_FUNCTIONS.get(self.name, ())
        for operation in FUNCTIONS:
            yield operation, INSTRUCTIONS, bound_of_image(image, operation, without)
            yield operation, ACCESSES, accesses_bound_of_image(image, operation, without)


def _heap_parts(
    facts: Any, at_peak: Any, word_bytes: int, heap_bytes: int
) -> dict[str, int] | None:
    """Where a heap's bytes are at the peak. A block outside of pools has a word of header."""
    if not at_peak.control_bytes:
        return None
    live, blocks = int(facts.peak_live_bytes), int(at_peak.blocks_bytes)
    headers = word_bytes * int(facts.objects_at_peak - at_peak.pooled)
    tables = int(at_peak.control_bytes)
    parts = (live, headers, blocks - live - headers, tables, heap_bytes - blocks - tables)
    return dict(zip(HEAP_PARTS, parts, strict=True))


def with_costs(operation: Operation, counts: Counts) -> Operation:
    """Add the costs of an operation's calls, and of those parts that were counted separately."""
    calls = counts.get(operation.name)
    if calls is None:
        return operation
    measures = [Measure(INSTRUCTIONS, round(calls.mean, 2), calls.p999, calls.max, calls.bound)]
    if calls.accesses_histogram is not None:
        total = sum(cost * number for cost, number in calls.accesses_histogram.items())
        mean = round(total / calls.count, 2)
        costs = (mean, calls.p999_accesses, calls.max_accesses, calls.bound_accesses)
        measures.append(Measure(ACCESSES, *costs))
    parts = {}
    for part in filter(None, PARTS):
        finer = counts.get(f"{operation.name}_{part}")
        if finer is not None:
            costs = (round(finer.mean, 2), finer.p999, finer.max, finer.bound)
            measures.append(Measure(INSTRUCTIONS, *costs, part=part))
            if part in PART_COUNTS:
                parts[part] = finer.count
    return replace(operation, measures=tuple(measures), parts=parts)


CORE_LIBRARY = "libtau_core{bits}{level}.so"
TLSF = Arena("tlsf", CORE_LIBRARY, "tau_tlsf")
BUDGET = Arena(
    "budget",
    CORE_LIBRARY,
    "tau_budget",
    needs_plan=True,
    prefix_without_classes=TLSF.prefix,
)
POOLS = Arena("pools", CORE_LIBRARY, "tau_pools", needs_plan=True)
SYSTEMS = (
    Native(TLSF, OURS, "our general allocator in constant time", is_counted=True),
    Native(BUDGET, PLANNED, "a plan's pools in front of tlsf; needs --plan", is_counted=True),
    Native(POOLS, PLANNED, "a plan's pools for bands of sizes; needs --plan", is_counted=True),
    Native(
        Arena("kingsley", opener="tau_system_kingsley_open", grows=True),
        PEER,
        "lists of powers of two, as in 4.2BSD",
    ),
    Native(
        Arena("static", opener="tau_system_static_open", opener_takes_trace=True, grows=True),
        PEER,
        "the most objects of each size, reserved from the start",
    ),
)

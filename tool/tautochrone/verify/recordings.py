"""Replays recordings on the compiled heap of a plan.

The heap is compiled from the plan's header and the core, for each target, as the plan's [build]
says. Every call of a recording is made on an emulated processor, in exactly heap_bytes, and the
contents of all objects are checked. firmware.py does the same with the functions of a user's
program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tautochrone.machine.images import FUNCTIONS, ISAS, compiler_versions
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.plan import sizes
from tautochrone.plan.build import build_of
from tautochrone.plan.verified import Call, Run, Verified, image_of, sha256_of
from tautochrone.trace import abi

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan
    from tautochrone.replay.emulator import Counts
    from tautochrone.replay.open_trace import OpenTrace


@dataclass(frozen=True)
class Done:
    """One recording on one target: the run, its calls, and refused requests.

    With `is_within`, bounds are of calls within limits: a refused request takes longer. `stated`
    are the header's bounds, if the calls' own are those of a firmware in which they hold.
    """

    run: Run
    calls: tuple[Call, ...]
    refusals: int
    first_refusal: int | None
    is_within: bool = False
    stated: Mapping[str, int] = field(default_factory=dict)

    @property
    def over(self) -> list[Call]:
        """The calls that took more than the header's bound, as far as that can be told."""
        is_free_alone = self.is_within and self.refusals > 0
        return [
            call
            for call in self.calls
            if call.over > 0 and (call.operation == "free" or not is_free_alone)
        ]

    @property
    def held(self) -> bool:
        """Whether no request was refused and no call exceeded its bound."""
        return not self.refusals and not self.over


def refuse(plan: Plan, traces: Sequence[OpenTrace]) -> None:
    """Raise TauError for a plan or a recording that says nothing about a 32-bit target."""
    if plan.layout != "32":
        raise TauError(
            "the plan is for this machine, not for a 32-bit target",
            "tau run --plan PLAN -- PROGRAM runs the program on it",
            EXIT_USAGE,
        )
    build = build_of(plan).name
    bounds = plan.sections.get("bounds")
    rows = bounds.operations if bounds else ()
    made_for = {row.build for row in rows if row.system == plan.system}
    if made_for - {build}:
        raise TauError(
            f"the plan's bounds are for {', '.join(sorted(made_for))}, its [build] says {build}",
            "make the plan again, with --build for a build that is not the default",
        )
    if plan.sizes == sizes.ESTIMATE:
        raise TauError(f"nothing to verify: the plan is {sizes.remark(plan)}", sizes.WAYS)
    for trace in traces:
        name = abi.of_header(trace.header)
        if name and not abi.fits(name, plan.layout) and plan.sizes != sizes.AS_RECORDED:
            raise TauError(
                f"{trace.path} was recorded on {name}: its sizes are not a 32-bit target's",
                sizes.WAYS,
            )


def bounds_of(plan: Plan, target: str) -> dict[str, int]:
    """The header's bounds in instructions on a target, by operation."""
    section = plan.sections.get("bounds")
    return {
        row.operation: row.bound
        for row in (section.operations if section else ())
        if (row.system, row.target, row.unit) == (plan.system, target, "instructions")
    }


def verify(plan: Plan, trace: OpenTrace, target: str, skip_misuse: bool = False) -> Done:
    """Replay a recording on the compiled heap of a target. Raises TauError if it misbehaves."""
    from tautochrone.replay.emulator import count_calls

    image = image_of(plan, target)
    how = {"goes_on": True, "forgets_alignment": plan.system == "pools"}
    counts = count_calls(image, trace, plan.heap_bytes, None, skip_misuse, **how)
    compiler = dict(compiler_versions((target,)))[target]
    bounds = bounds_of(plan, target)
    return done_of(plan, trace, target, "", image.elf, compiler, counts, bounds)


def done_of(
    plan: Plan,
    trace: OpenTrace,
    target: str,
    firmware: str,
    elf: Path,
    compiler: str,
    counts: Counts,
    bounds: dict[str, int],
) -> Done:
    """The result of a run, with the bounds of the called operations."""
    if counts.is_truncated:
        raise TauError(f"{trace.path} is too long to be verified on {ISAS[target].title}")
    calls = tuple(
        Call(target, firmware, verb, counts[verb].max, bounds.get(verb))
        for verb in FUNCTIONS
        if verb in counts
    )
    made = sum(counts[verb].count for verb in FUNCTIONS if verb in counts)
    run = Run(
        *(target, firmware, sha256_of(elf), compiler, trace.path.name, trace.reader.sha256()),
        *(counts.heap_bytes, made, counts.stack_bytes),
    )
    is_within = plan.system == "pools"
    return Done(run, calls, counts.refusals, counts.first_refusal, is_within)


def certificate(done: Sequence[Done], before: Verified | None) -> Verified:
    """The plan's section for runs that held: all runs, and the most of each operation's calls.

    Earlier certificates stay, except for code that has changed.
    """
    now = {(each.run.target, each.run.firmware): each.run.elf_sha256 for each in done}
    again = {(each.run.target, each.run.firmware, each.run.trace_sha256) for each in done}
    kept = before if before is not None else Verified((), ())
    is_other = {
        (run.target, run.firmware)
        for run in kept.runs
        if now.get((run.target, run.firmware), run.elf_sha256) != run.elf_sha256
    }
    runs = [
        run
        for run in kept.runs
        if (run.target, run.firmware) not in is_other
        and (run.target, run.firmware, run.trace_sha256) not in again
    ]
    calls = [call for call in kept.calls if (call.target, call.firmware) not in is_other]
    most: dict[tuple[str, str, str], Call] = {}
    for call in (*calls, *(call for each in done for call in each.calls)):
        key = (call.target, call.firmware, call.operation)
        if key not in most or call.instructions_max > most[key].instructions_max:
            most[key] = call
    return Verified((*runs, *(each.run for each in done)), tuple(most.values()))

"""`tau verify`: replays recordings on the machine code that a firmware will run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tautochrone import unseen
from tautochrone.machine.core_build import TARGETS
from tautochrone.commands.options import FILE, JSON, PATH, SKIP_MISUSE
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE, EXIT_LIMIT_EXCEEDED, EXIT_USAGE, TauError
from tautochrone.files import output_file
from tautochrone.trace.ending import note_ending

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan
    from tautochrone.verify.recordings import Done
    from tautochrone.who.calls import Call
    from tautochrone.replay.open_trace import OpenTrace


@click.command()
@click.argument("plan_path", metavar="PLAN", type=FILE)
@click.argument("traces", type=PATH, nargs=-1)
@click.option(
    "--target",
    "targets",
    type=click.Choice(TARGETS),
    multiple=True,
    help="Processor to verify on; may be given twice (default: each whose compiler is installed).",
)
@click.option(
    "--elf",
    "firmware",
    type=FILE,
    help="Your linked program, whose malloc, free, … (FreeRTOS: pvPortMalloc, …) are called"
    " (default: the heap is compiled from the plan's header and the core).",
)
@SKIP_MISUSE
@JSON
def command(
    plan_path: Path,
    traces: tuple[Path, ...],
    targets: tuple[str, ...],
    firmware: Path | None,
    skip_misuse: bool,
    as_json: bool,
) -> int:
    """Verify PLAN on a target's machine code: replay every call of each of TRACES.

    \b
    tau verify plan.toml program.tau
    tau verify plan.toml runs
    tau verify plan.toml --target m4
    tau verify plan.toml program.tau --elf firmware.elf

    The heap is compiled from the plan's header and the core, with the options that the plan states,
    and runs on an emulated processor in exactly the planned bytes. The contents of all objects are
    checked. A folder stands for all *.tau in it. Without TRACES, the recordings that the plan names
    are taken from its folder.

    If no request is refused and no call takes more instructions than the header's bound, the plan
    gets a certificate: the section [verified]. `tau check` compares it with the installed core and
    compilers. The result lists everything that was not looked at. Bounds of a plan of `tau plan
    --guarantee` hold within its limits, so a refused call is not compared with them.

    Exit status: 0 verified; 3 a request was refused, or a call exceeded its bound.
    """
    from tautochrone.plan.file import load_plan
    from tautochrone.plan.remarks import note_plan
    from tautochrone.verify.recordings import refuse
    from tautochrone.replay.open_trace import OpenTrace
    from tautochrone.trace.folder import traces_in

    if output_file.is_stream(plan_path):
        cause = f"{plan_path} is a stream, but the certificate is written into the plan"
        raise TauError(cause, "name the plan's file", EXIT_USAGE)
    output_file.check(plan_path, force=True)
    plan = load_plan(plan_path)
    opened = [OpenTrace(path) for path in traces_in(traces) or _beside(plan_path, plan)]
    refuse(plan, opened)
    done = _on_firmware(plan, opened, firmware, skip_misuse) if firmware else []
    if not firmware:
        done = _on_targets(plan, opened, targets or TARGETS, not targets, skip_misuse)
    held = all(each.held for each in done)
    if held:
        _certify(plan_path, plan, done)
    refused = _refused_calls(opened, done)
    result = _result(plan_path, plan, done, held, refused)
    paths = [trace.path for trace in opened]
    output.emit(as_json, "verify", result, lambda: _print(plan_path, plan, done, paths, refused))
    for trace in opened:
        note_ending(trace.path, trace.ending)
    note_plan(plan_path, plan)
    return EXIT_DONE if held else EXIT_LIMIT_EXCEEDED


def _beside(plan_path: Path, plan: Plan) -> list[Path]:
    """The recordings that a plan names, in its folder."""
    paths = [plan_path.parent / trace.name for trace in plan.traces]
    missing = [str(path) for path in paths if not path.exists()]
    if missing or not paths:
        cause = "not there" if missing else "it names no recording"
        raise TauError(
            f"{', '.join(missing) or plan_path}: {cause}",
            f"name the recordings or their folder: tau verify {plan_path} TRACE…",
        )
    return paths


def _on_targets(
    plan: Plan,
    traces: list[OpenTrace],
    targets: tuple[str, ...],
    is_any_enough: bool,
    skip_misuse: bool,
) -> list[Done]:
    """Every recording on every target; without a choice, on those that can be compiled for."""
    from tautochrone.plan.verified import image_of
    from tautochrone.verify.recordings import verify

    done: list[Done] = []
    failed: TauError | None = None
    for target in targets:
        try:
            image_of(plan, target)
        except TauError as error:
            failed = error
            if not is_any_enough:
                raise
            output.note(f"tau: not verified on {target}: {error.message}", error.next_step)
            continue
        done += [verify(plan, trace, target, skip_misuse) for trace in traces]
    if not done and failed:
        raise failed
    return done


def _on_firmware(plan: Plan, traces: list[OpenTrace], path: Path, skip_misuse: bool) -> list[Done]:
    from tautochrone.verify.firmware import open_firmware

    firmware = open_firmware(path, plan)
    if firmware.baseline:
        output.note(
            f"tau: {path} is {firmware.baseline} code: the header's bounds, for Cortex-M4, do not"
            " hold in it"
        )
    for verb, cause in firmware.unbounded.items():
        output.note(f"tau: {path}: {verb} has no bound: {cause}")
    return [firmware.verify(trace, skip_misuse) for trace in traces]


def _refused_calls(traces: list[OpenTrace], done: list[Done]) -> list[Call | None]:
    """The first refused call of each run; None if none was refused. Runs are in order of traces."""
    from tautochrone.who.calls import calls_at

    found: list[Call | None] = []
    for number, each in enumerate(done):
        reader = traces[number % len(traces)].reader
        found += calls_at(reader, [each.first_refusal]).values() or [None]
    return found


def _certify(plan_path: Path, plan: Plan, done: list[Done]) -> None:
    """Write the certificate into the plan, unless the file has become another plan meanwhile."""
    from tautochrone.plan.file import load_plan, replace_section
    from tautochrone.plan.verified import NAME
    from tautochrone.verify.recordings import certificate

    now = load_plan(plan_path)  # another run may have written its own certificate
    if _without(now, NAME) != _without(plan, NAME):
        raise TauError(
            f"{plan_path} was replaced while it was verified: the certificate is not written",
            f"verify the new one: tau verify {plan_path}",
        )
    replace_section(plan_path, now, NAME, certificate(done, now.sections.get(NAME)))


def _without(plan: Plan, name: str) -> Plan:
    """A plan less one of its sections."""
    sections = {key: value for key, value in plan.sections.items() if key != name}
    return replace(plan, sections=sections)


def _result(
    plan_path: Path, plan: Plan, done: list[Done], held: bool, refused: list[Call | None]
) -> dict[str, Any]:
    return {
        "plan": str(plan_path),
        "heap_bytes": plan.heap_bytes,
        "held": held,
        "runs": [
            {
                **each.run._asdict(),
                "refusals": each.refusals,
                "first_refusal": each.first_refusal,
                "refused": call.document() if call is not None else None,
                "operations": [call._asdict() for call in each.calls],
            }
            for each, call in zip(done, refused, strict=True)
        ],
        unseen.KEY: list(_unseen(plan)),
    }


def _unseen(plan: Plan) -> tuple[str, ...]:
    return unseen.VERIFICATION_OF_LIMITS if plan.system == "pools" else unseen.VERIFICATION


def _print(
    plan_path: Path,
    plan: Plan,
    done: list[Done],
    traces: list[Path],
    refused_calls: list[Call | None],
) -> None:
    from tautochrone.plan.build import build_of

    print(f"{plan_path}: a heap of {plan.heap_bytes:,} bytes, {build_of(plan).told()}")
    for each, refused_call in zip(done, refused_calls, strict=True):
        run = each.run
        where = f"{run.firmware} ({run.target})" if run.firmware else run.target
        refused = "0 refused"
        if refused_call is not None:
            first = f"{refused_call.event:,}: {refused_call.told()}"
            refused = f"{each.refusals:,} REFUSED, the first at event {first}"
        print(
            f"{where}, {run.trace}: {run.calls:,} calls, {refused}; stack {run.stack_bytes:,} bytes"
        )
        for call in each.calls:
            bound = "no bound" if call.bound is None else f"bound {call.bound:,}"
            if run.firmware and call.bound is not None:
                bound += " as linked"
            if call.operation in each.stated and call.bound is not None:
                stated = each.stated[call.operation]
                bound += f"; the header's, of the core alone, is {stated:,}"
            if call.over > 0:
                bound += "  OVER" if call in each.over else " within the limits; one was refused"
            print(f"  {call.operation:<14} {call.instructions_max:>8,} instructions, {bound}")
    print(unseen.told(_unseen(plan)))
    if all(each.held for each in done):
        unbounded = {call.operation for each in done for call in each.calls if call.bound is None}
        but = f", but {' and '.join(sorted(unbounded))} without a bound" if unbounded else ""
        print(f"verified{but}; written into {plan_path}")
    for step in _next_steps(plan_path, plan, done, traces):
        print(f"next: {step}")


def _next_steps(
    plan_path: Path, plan: Plan, done: list[Done], traces: list[Path]
) -> Iterator[str]:
    """The next step for refused requests, and for calls that exceeded their bounds."""
    from tautochrone.plan import bounds
    from tautochrone.plan.again import again

    names = {each.run.trace for each in done if each.refusals}
    if refused := [path for path in traces if path.name in names]:
        if plan.system == "pools":
            yield shlex.join(["tau", "check", str(plan_path), *map(str, refused)])
        yield again(plan_path, plan, refused)
    if any(each.over for each in done):
        stated = plan.sections.get(bounds.NAME)
        moved = bounds.problems(stated, plan) if stated else []
        yield from (f"{text}; {again(plan_path, plan)}" for text in moved[:1])
        if not moved:
            yield "report this: a bound is wrong. Include the plan, the recording and the firmware"

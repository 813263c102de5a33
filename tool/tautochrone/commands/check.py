"""`tau check`: validates a whole trace, plan, code recording or description."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tautochrone import unseen
from tautochrone.commands.options import JSON, PATH
from tautochrone.console import output
from tautochrone.errors import EXIT_FAILED
from tautochrone.files import input_file
from tautochrone.trace.ending import note_remarks

if TYPE_CHECKING:
    from tautochrone.trace.checking import Checked


@click.command()
@click.argument("file", type=PATH)
@click.argument("traces", type=PATH, nargs=-1)
@JSON
def command(file: Path, traces: tuple[Path, ...], as_json: bool) -> int:
    """Validate FILE against every rule: a trace, a plan, a code recording, or a description.

    \b
    tau check program.tau && echo sound
    tau check plan.toml --json
    tau check tasks.toml
    tau check plan.toml later.tau
    tau check plan.toml runs

    For a trace, it checks every checksum, every event, and the footer against the events. It also
    reports events that are missing because recording stopped early, because the file was cut, or
    because the recorder did not see every allocation. It prints the first double free, and the
    first free of an unknown object.

    For a plan, it checks all that `tau plan` promises, whether the recordings were complete, and
    whether the installed core has the same bounds. For a plan of code, it also compares the files
    next to it: its fragment NAME.lds, the recordings that it names, and vmlinux or the recorded
    kernel. They may be elsewhere; a note names the files that were not compared.

    For a code recording, it checks every checksum, that counts, touches and times agree, and
    whether the kernel reached its steady state.

    Descriptions are the tasks and geometries of `tau tlb`, the systems of `tau compose`, and limits
    for `tau plan --limits`. The first mistake that the planner would refuse is printed. Recordings
    that tasks name are read. `tau tlb plan` says whether tasks fit a geometry.

    With TRACES, FILE is a plan of `tau plan --guarantee`. Each limit that a recording exceeds is
    printed: by how much, when first, and at which call site. A folder stands for all *.tau in it.

    Exit status: 0 without problems; 1 with problems, which are printed with their places; 3 if a
    recording exceeds a limit. TRACES with missing events count as a problem.
    """
    if traces:
        from tautochrone.commands.check_limits import check

        return check(file, traces, as_json)
    kind, checked = check_file(file)
    problems, ending = checked.problems, checked.ending
    next_step = checked.next_step
    result: dict[str, Any] = {
        "file": str(file),
        "kind": kind,
        "sound": not problems,
        "problems": [{"place": problem.place, "cause": problem.cause} for problem in problems],
        unseen.KEY: list(unseen.checked(kind)),
    }
    if ending is not None:
        result["ending"] = ending.document()
        result["misuse"] = [{"place": one.place, "cause": one.cause} for one in checked.misuses]

    def human() -> None:
        for one in (*problems, *checked.misuses):
            print(f"{file}: {one.place}: {one.cause}")
        counted = output.count(len(problems), "problem") if problems else "no problems"
        is_misuse = checked.misuses and not problems
        of_program = "; the program misused its heap, see above" if is_misuse else ""
        print(f"{file}: {kind}, {counted}{of_program}")
        if items := unseen.checked(kind):
            print(unseen.told(items))
        if any(problem.place == "bounds" for problem in problems):
            print(f"next: {_planned_again(file, kind)}")
        if next_step:
            print(f"next: {next_step}")

    output.emit(as_json, "check", result, human)
    if ending is not None:
        note_remarks(file, [remark for remark in ending.remarks if not remark.is_problem])
    return EXIT_FAILED if problems else 0


def _planned_again(file: Path, kind: str) -> str:
    """The next step for a plan whose bounds are of another core."""
    from tautochrone.plan.again import again
    from tautochrone.plan.file import load_any_plan

    if kind == "plan":
        return again(file, load_any_plan(file))
    return "make the plan again, for the installed core and compilers"


def check_file(file: Path) -> tuple[str, Checked]:
    """Return the kind of a file and the result. A file of no known kind has one problem."""
    from tautochrone.coldcode.recording import is_code_recording, problems_of
    from tautochrone.commands import described
    from tautochrone.commands.check_limits import heap_problem
    from tautochrone.facts import trace_format
    from tautochrone.plan.checking import check_plan
    from tautochrone.trace.checking import Checked, Problem, check_trace
    from tautochrone.trace.file import HEAD_BYTES, STATUS_NOT_A_TRACE, status_error

    checked = check_trace(file)
    if checked.ending is not None:
        return "trace", checked
    head = input_file.read(file, "trace or plan", HEAD_BYTES)
    if head.startswith(trace_format.MAGIC.encode()):
        return "trace", checked
    if is_code_recording(file):
        found = problems_of(file)
        problems = [Problem(one.place, one.cause) for one in found]
        return "code recording", Checked(problems, next_step=found[0].next_step if found else None)
    described_kind = described.kind_of(file)
    if described_kind in described.CHECKS:
        return described_kind, described.check(file, described_kind)
    kind, problems = check_plan(file, head)
    if not problems and (cause := heap_problem(file)):
        problems = [Problem("heap", cause)]
    if kind == "unknown":
        return kind, Checked(problems, next_step=status_error(STATUS_NOT_A_TRACE, file).next_step)
    return kind, Checked(problems)

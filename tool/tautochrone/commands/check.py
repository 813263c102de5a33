"""`tau check`: validates a whole trace or plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tautochrone.console import output
from tautochrone.errors import EXIT_FAILED, TauError
from tautochrone.files import input_file
from tautochrone.trace.ending import Ending, note_ending

if TYPE_CHECKING:
    from tautochrone.trace.checking import Problem


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
def command(file: Path, as_json: bool) -> int:
    """Validate FILE, a trace or a plan, against every rule.

    \b
    tau check program.tau && echo sound
    tau check plan.toml --json

    Of a trace it checks every checksum, every event, and the footer against the events. It also
    reports events that are missing because recording stopped early or the file was cut, and the
    first event of each kind of misuse: a double free, or a free of an unknown object.

    Of a plan it checks what `tau plan` promises, whether the recordings were complete, and whether
    the bounds are those of the installed core.

    Exit status: 0 if there is no problem; 1 if there are problems, which are printed with their
    places.
    """
    from tautochrone.trace.checking import first_misuses

    kind, problems = check_file(file)
    result: dict[str, Any] = {
        "file": str(file),
        "kind": kind,
        "sound": not problems,
        "problems": [{"place": problem.place, "cause": problem.cause} for problem in problems],
    }
    ending = _ending(file) if kind == "trace" else None
    misuses: list[Problem] = []
    if ending is not None:
        result["ending"] = ending.document()
        misuses = first_misuses(file) if not problems else []
        result["misuse"] = [{"place": one.place, "cause": one.cause} for one in misuses]

    def human() -> None:
        for problem in problems:
            print(f"{file}: {problem.place}: {problem.cause}")
        for misuse in misuses:
            print(f"{file}: {misuse.place}: {misuse.cause}")
        counted = output.count(len(problems), "problem") if problems else "no problems"
        of_program = "; the program misused its heap, see above" if misuses else ""
        print(f"{file}: {kind}, {counted}{of_program}")
        if any(problem.place == "bounds" for problem in problems):
            print("next: make the plan again with `tau plan`, for the installed core and compilers")

    output.emit(as_json, "check", result, human)
    if ending is not None and not problems:
        note_ending(file, ending)
    return EXIT_FAILED if problems else 0


def check_file(file: Path) -> tuple[str, list[Problem]]:
    """Return ("trace" or "plan", its problems). A file that is neither has one problem."""
    from tautochrone.facts import trace_format
    from tautochrone.plan.checking import check_plan
    from tautochrone.trace.checking import check_trace
    from tautochrone.trace.file import HEAD_BYTES

    head = input_file.read(file, "trace or plan", HEAD_BYTES)
    if head.startswith(trace_format.MAGIC.encode()):
        return "trace", check_trace(file)
    return check_plan(file, head)


def _ending(file: Path) -> Ending | None:
    """How a trace ended; None if it cannot be opened, which is reported elsewhere."""
    from tautochrone.trace.file import open_trace

    try:
        with open_trace(file) as reader:
            return reader.ending
    except TauError:
        return None

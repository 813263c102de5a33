"""`tau check`: validates a trace or a plan, whole."""

from __future__ import annotations

from pathlib import Path

import click

from tautochrone import output
from tautochrone.errors import EXIT_FAILED


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
def command(file: Path, as_json: bool) -> int:
    """Check every rule of FILE, a trace or a plan.

    \b
    tau check program.tau && echo sound
    tau check plan.toml --json

    A trace: every checksum, every event, and the footer against the events. A plan: what `tau plan`
    promises of one. Exit status 0: no problem; 1: the problems are printed with their places.
    """
    from tautochrone.checking import check_file

    kind, problems = check_file(file)
    result = {
        "file": str(file),
        "kind": kind,
        "sound": not problems,
        "problems": [{"place": problem.place, "cause": problem.cause} for problem in problems],
    }

    def human() -> None:
        for problem in problems:
            print(f"{file}: {problem.place}: {problem.cause}")
        plural = "" if len(problems) == 1 else "s"
        print(f"{file}: {kind}, {len(problems) or 'no'} problem{plural}")

    output.emit(as_json, "check", result, human)
    return EXIT_FAILED if problems else 0

"""`tau export`: a trace as CSV or Parquet, for other tools."""

import sys
from pathlib import Path

import click

from tautochrone.commands.options import FORCE, PATH
from tautochrone.console import output
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.files import output_file
from tautochrone.files.paths import OutputPath

FORMS = "csv", "parquet"


@click.command()
@click.argument("trace", type=PATH)
@click.option(
    *("-o", "--output", "out"),
    type=OutputPath(),
    default="-",
    show_default=True,
    help="File to write; - is stdout.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="Format of the output (default: the one of the output's name; csv without a suffix).",
)
@FORCE
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the result as one JSON document; needs -o FILE.",
)
def command(trace: Path, out: Path, form: str | None, force: bool, as_json: bool) -> None:
    """Write the events of TRACE as CSV or Parquet for other tools.

    \b
    tau export program.tau | head
    tau export program.tau -o program.csv
    tau export program.tau -o program.parquet

    The CSV holds every field of an event; `tau import` reads it. Parquet needs the Python package
    pyarrow.
    """
    from tautochrone.convert import exporting
    from tautochrone.trace.ending import note_ending
    from tautochrone.trace.file import open_trace

    output_file.check(out, force, [trace], as_json)
    form = form or _form_of(out)
    if output_file.is_stdout(out):
        if form == "parquet":
            raise TauError("Parquet cannot go to stdout", "give -o FILE", EXIT_USAGE)
        with open_trace(trace) as reader:
            note_ending(trace, reader.ending)
            sys.stdout.flush()
            exporting.export_csv_to(reader, sys.stdout.fileno(), "stdout")
        return
    exporter = exporting.export_parquet if form == "parquet" else exporting.export_csv
    with open_trace(trace) as reader:
        events = exporter(reader, out, force)
    result = {
        "trace": str(trace),
        "output": str(out),
        "format": form,
        "events": events,
        "file_bytes": out.stat().st_size,
        "ending": reader.ending.document(),
    }
    output.emit(as_json, "export", result, lambda: print(f"{out}: {events:,} events"))
    note_ending(trace, reader.ending)


def _form_of(out: Path) -> str:
    """The format that a file's name asks for. Raises TauError (usage) for any other suffix."""
    form = out.suffix[1:] or FORMS[0]
    if form not in FORMS:
        raise TauError(
            f"{out}: unknown format {form}; supported are .csv and .parquet",
            "give the output one of these suffixes, or say --format csv or --format parquet",
            EXIT_USAGE,
        )
    return form

"""`tau export`: a trace as CSV or Parquet, for other tools."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tautochrone import output
from tautochrone.errors import EXIT_USAGE, TauError


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("-o", "--output", "out", default="-", help="Where to; - (the default) is stdout.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "parquet"]),
    help="Default: by the output's name, else csv.",
)
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON; needs -o FILE.")
def command(trace: Path, out: str, form: str | None, force: bool, as_json: bool) -> None:
    """Write the events of TRACE for other tools.

    \b
    tau export program.tau | head
    tau export program.tau -o program.csv
    tau export program.tau -o program.parquet

    The CSV holds everything that an event has and comes back through `tau import`. Parquet needs
    the extra: pipx install 'tautochrone[parquet]'.
    """
    from tautochrone import exporting

    form = form or ("parquet" if out.endswith(".parquet") else "csv")
    if out == "-":
        if as_json:
            raise TauError("--json would mix with the events", "give -o FILE", EXIT_USAGE)
        if form == "parquet":
            raise TauError("Parquet cannot go to stdout", "give -o FILE", EXIT_USAGE)
        sys.stdout.flush()
        exporting.export_csv_to(trace, sys.stdout.fileno())
        return
    path = Path(out)
    if path.exists() and not force:
        raise TauError(f"{path} exists", "name another with -o, or give --force", EXIT_USAGE)
    exporter = exporting.export_parquet if form == "parquet" else exporting.export_csv
    events = exporter(trace, path)
    result = {
        "trace": str(trace),
        "output": str(path),
        "format": form,
        "events": events,
        "file_bytes": path.stat().st_size,
    }
    output.emit(as_json, "export", result, lambda: print(f"{path}: {events:,} events"))

"""`tau compose plan`: table entries and bytes of an executable, and its reservation."""

from pathlib import Path

import click

from tautochrone.commands.options import FILE, FORCE, JSON
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE


@click.command()
@click.argument("executable", type=FILE)
@click.option(
    "-o",
    "--output",
    "out",
    type=FILE,
    help="File for the reservation, a part of system.toml (default: none).",
)
@click.option(
    "--page-bytes",
    type=click.IntRange(1024, 1 << 24),
    help="Largest page to reserve, in bytes (default: the one that takes the least memory).",
)
@FORCE
@JSON
def command(
    executable: Path, out: Path | None, page_bytes: int | None, force: bool, as_json: bool
) -> int:
    """Show how many table entries and bytes EXECUTABLE takes with each largest page.

    \b
    tau compose plan camera.elf
    tau compose plan camera.elf --page-bytes 16384 -o camera.toml

    Larger pages take fewer entries, and waste more. The reservation is the page mix with the least
    memory among those with at most 8 entries, or the one of --page-bytes.
    """
    from tautochrone.compose import planning
    from tautochrone.files import output_file

    if out is not None:
        output_file.check(out, force, [executable], as_json=as_json)
    planned = planning.plan(executable, page_bytes)
    if out is not None:
        with output_file.written(out, force, [executable]) as partial:
            partial.write_text(planning.reservation(planned, out.parent), encoding="utf-8")
    output.emit(as_json, "compose plan", planned.document(), lambda: planning.show(planned))
    return EXIT_DONE

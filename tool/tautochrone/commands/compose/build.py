"""`tau compose build`: links and fits a system, or says which line does not fit."""

from __future__ import annotations

from pathlib import Path

import click

from tautochrone.commands.compose.options import FILE, FOLDER, JSON, folder_of
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE


@click.command()
@click.argument("system", type=FILE)
@click.option("-o", "--output", "out", type=FOLDER, help="Keep the files in this folder.")
@JSON
def command(system: Path, out: Path | None, as_json: bool) -> int:
    """Link and fit the applications of SYSTEM, or say which line does not fit.

    \b
    tau compose build system.toml
    tau compose build system.toml -o out

    Checked are executables, page lists, reservations, queues, slots, and the memory at each load,
    with the kernel's own allocator.
    """
    from tautochrone.compose.description import read_description
    from tautochrone.compose.fitting import document, show
    from tautochrone.compose.making import make

    description = read_description(system)
    with folder_of(out) as folder:
        made = make(description, folder)
        if out is not None:
            (folder / "system.bin").write_bytes(made.content)
        result = document(made, description, out)
    output.emit(as_json, "compose build", result, lambda: show(result))
    return EXIT_DONE

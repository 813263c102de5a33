"""`tau compose build`: links and fits a system, or says which line does not fit."""

from pathlib import Path

import click

from tautochrone.commands.compose.options import scratch
from tautochrone.commands.options import FILE, FOLDER, FORCE, JSON
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE


@click.command()
@click.argument("system", type=FILE)
@click.option(
    "-o", "--output", "out", type=FOLDER, help="Folder to keep the files in (default: none)."
)
@FORCE
@JSON
def command(system: Path, out: Path | None, force: bool, as_json: bool) -> int:
    """Link and fit the applications of SYSTEM, or say which line does not fit.

    \b
    tau compose build system.toml
    tau compose build system.toml -o out

    It checks executables, page lists, reservations, queues, slots, and the memory at each load,
    with the kernel's own allocator.
    """
    from tautochrone.compose.description import read_description
    from tautochrone.compose.fitting import document, show
    from tautochrone.compose.making import inputs_of, make

    description = read_description(system)
    with scratch() as folder:
        made = make(description, folder)
        result = document(made, description, out)
        if out is not None:
            (folder / "system.bin").write_bytes(made.content)
            _publish(folder, out, force, inputs_of(description))
    output.emit(as_json, "compose build", result, lambda: show(result))
    return EXIT_DONE


def _publish(folder: Path, out: Path, force: bool, inputs: list[Path]) -> None:
    """Move the built files to OUT: all of them, or none if a file exists and may not be replaced.

    None of INPUTS is replaced, whatever FORCE says.
    Applications keep a folder of their own, so none has the name of the kernel or the base code.
    """
    from tautochrone.files import output_file

    made = sorted(path for path in folder.rglob("*") if path.is_file())
    targets = [out / path.relative_to(folder) for path in made]
    for target in targets:
        if target.parent.exists():
            output_file.check(target, force, inputs)
    for path, target in zip(made, targets, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        output_file.move(path, target, force)

"""`tau compose link`: links sources into an application for the tile."""

from pathlib import Path

import click

from tautochrone import unseen
from tautochrone.commands.compose.options import scratch
from tautochrone.commands.options import FILE, FORCE, JSON
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE


@click.command()
@click.argument("sources", type=FILE, nargs=-1, required=True)
@click.option("-o", "--output", "out", type=FILE, required=True, help="Executable to write.")
@click.option(
    "--page-bytes",
    type=click.IntRange(1024, 1 << 24),
    default=16384,
    show_default=True,
    help="Largest page to link for, in bytes: data start at a multiple of it.",
)
@click.option(
    "--address",
    default="0x80100000",
    show_default=True,
    help="First address of the application.",
)
@click.option(
    "-D",
    "defines",
    multiple=True,
    help="Macro for the sources, as in -DSIZE=4; may be repeated (default: none).",
)
@click.option(
    "-I",
    "includes",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    help="Folder in which the sources find headers; may be repeated (default: none).",
)
@click.option(
    "-l",
    "--library",
    "names",
    multiple=True,
    help="picolibc, or the path of an archive; may be repeated (default: none).",
)
@FORCE
@JSON
def command(
    sources: tuple[Path, ...],
    out: Path,
    page_bytes: int,
    address: str,
    defines: tuple[str, ...],
    includes: tuple[Path, ...],
    names: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> int:
    """Link SOURCES into an application for the tile.

    \b
    tau compose link camera.c filter.c -o camera.elf
    tau compose link camera.c -I vendor/include -l vendor/libfilter.a -l picolibc -o camera.elf

    The sources include "kernel/base/application.h" and "kernel/base/base.h". TAU_TASK and
    TAU_APPLICATION in them name the tasks. Floats, 64-bit division, memcpy, memmove, memset,
    memcmp, strlen and strchr are available; other C functions come with -l picolibc.
    """
    from tautochrone.machine.images import building
    from tautochrone.compose import code, making
    from tautochrone.files import input_file, output_file
    from tautochrone.targets.libraries import Libraries

    output_file.check(out, force, sources, as_json=as_json)
    for source in sources:
        input_file.check(source, "source")
    flags = [*(f"-D{each}" for each in defines), *(f"-I{each.absolute()}" for each in includes)]
    with building():
        libraries = Libraries.named(names, Path())
    with scratch() as folder:
        base = making.base_of(folder)
        own = folder / "application"
        own.mkdir()
        made = code.application(
            making.root(),
            out.stem,
            sources,
            base.path,
            own,
            flags,
            page_bytes,
            making.address_of(address),
            libraries,
        )
        making.refuse_executable(made, out.name, base)
        with output_file.written(out, force, sources) as partial:
            partial.write_bytes(made.read_bytes())
        tasks = [name for _, name in code.tasks_of(made)]
    result = {"executable": str(out), "base_sha256": base.digest.hex(), "tasks": tasks}
    result[unseen.KEY] = list(unseen.COMPOSE_LINK)
    said = f"{out}: {', '.join(tasks)}\n{unseen.told(unseen.COMPOSE_LINK)}"
    output.emit(as_json, "compose link", result, lambda: print(said))
    return EXIT_DONE

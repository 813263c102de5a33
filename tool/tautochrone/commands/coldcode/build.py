"""`tau coldcode build`: a Linux kernel whose cold code can leave RAM."""

from pathlib import Path
from typing import Any

import click

from tautochrone import unseen
from tautochrone.commands.coldcode.options import build_options
from tautochrone.console import output


@click.command()
@build_options
def command(
    configuration: str, placement: Path | None, archive: Path | None, seconds: float, as_json: bool
) -> None:
    """Build a Linux kernel, and print its folder.

    \b
    tau coldcode build
    tau coldcode build --configuration own.config --placement plan.lds

    Without a placement all code stays in RAM; record that kernel. The folder is kept in the user's
    cache, so that the same call builds nothing again. It holds vmlinux, vmlinux.map, Image, and
    pages.bin, which belongs into flash at 0x20001000.
    """
    from tautochrone.coldcode.linux.build import Wish, build
    from tautochrone.coldcode.linux.run import sizes_of
    from tautochrone.coldcode.linux.settle import warn_of_misplaced
    from tautochrone.coldcode.linux.source import ARCHIVE

    built = build(Wish(configuration, placement, archive or ARCHIVE, seconds))
    if placement is not None:
        warn_of_misplaced(built, placement)
    sizes = sizes_of(built)
    result = {
        "configuration": configuration,
        "kernel": str(built.folder),
        "text_bytes": sizes.text,
        "static_bytes": sizes.static,
        "page_file_bytes": built.pages.stat().st_size,
        unseen.KEY: list(unseen.KERNEL_BUILD),
    }
    output.emit(as_json, "coldcode build", result, lambda: _print(result))


def _print(result: dict[str, Any]) -> None:
    click.echo(f"kernel: {result['kernel']}")
    click.echo(f"code: {result['text_bytes']:,} bytes")
    click.echo(f"code and data: {result['static_bytes']:,} bytes")
    click.echo(unseen.told(unseen.KERNEL_BUILD))

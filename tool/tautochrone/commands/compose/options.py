"""Options that several verbs of `tau compose` take."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as one JSON document."
)
FRAMES = click.option(
    "--major-frames",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    help="How long each tile runs, in rounds of its slots.",
)


@contextmanager
def folder_of(folder: Path | None) -> Iterator[Path]:
    """FOLDER, made if need be, or one for the moment."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="tau-compose-") as made:
        yield Path(made)

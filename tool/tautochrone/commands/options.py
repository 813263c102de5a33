"""Options that several verbs take, each declared once."""

from __future__ import annotations

from pathlib import Path

import click

PATH = click.Path(path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)

JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as one JSON document."
)
FORCE = click.option("--force", is_flag=True, help="Replace existing outputs.")
SKIP_MISUSE = click.option(
    "--skip-misuse",
    is_flag=True,
    help="Leave out frees that name no live object (default: refuse such a trace).",
)

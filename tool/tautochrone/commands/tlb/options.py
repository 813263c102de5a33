"""Options that several verbs of `tau tlb` take."""

from pathlib import Path

import click

FILE = click.Path(dir_okay=False, path_type=Path)
JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as one JSON document."
)

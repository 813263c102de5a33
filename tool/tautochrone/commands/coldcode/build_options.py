"""The options that name a kernel to build."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tautochrone.console.numbers import FiniteRange
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
OPTIONS: tuple[Decorator, ...] = (
    click.option(
        "--configuration",
        default="smallest",
        show_default=True,
        metavar="NAME|FILE",
        help="smallest, embedded, or a file of the kernel's options, one per line as in .config;"
        " what cold code needs is added.",
    ),
    click.option(
        "--placement",
        type=click.Path(path_type=Path),
        help="Which code is cold, and on which pages: a .lds file that `tau coldcode plan` writes"
        " (default: none).",
    ),
    click.option(
        "--source",
        "archive",
        type=click.Path(path_type=Path),
        help="The kernel's source: an archive or a folder (default: the archive of Debian's"
        " linux-source-6.12).",
    ),
    click.option(
        "--seconds",
        type=FiniteRange(min=1),
        default=10800.0,
        show_default=True,
        help="Time limit of each step, in seconds: configuring, compiling, linking, a boot.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document."),
)


def build_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, in the order above."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function

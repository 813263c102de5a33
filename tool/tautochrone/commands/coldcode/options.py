"""Options that several verbs of `tau coldcode` take."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tautochrone.commands.options import JSON
from tautochrone.console.numbers import FiniteRange
from tautochrone.facts import plan_format

BELADY = "belady"
FACTS = plan_format.SECTIONS["code"]
POLICIES = tuple(FACTS["policy"]["values"])
FRAMES_LEAST, FRAMES_MAX = FACTS["frames"]["least"], FACTS["frames"]["most"]
FRAMES = click.IntRange(FRAMES_LEAST, FRAMES_MAX)
POLICY = click.Choice(POLICIES)
POLICY_OR_BELADY = click.Choice((*POLICIES, BELADY))
# Without a plan.
THRESHOLD, FRAMES_COUNT, POLICY_NAME = 0.999, 16, POLICIES[0]


class Memory(click.ParamType):
    """A number of bytes, or of KiB or MiB as 300K or 2M."""

    name = "BYTES"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        found = re.fullmatch(r"(\d{1,12})([KM]?)(?:i?B)?", str(value), re.IGNORECASE | re.ASCII)
        if not found or not int(found[1]):
            self.fail(f"{value!r} is not a number of bytes; write for example 300K", param, ctx)
        return int(found[1]) << {"": 0, "K": 10, "M": 20}[found[2].upper()]


BUILD_OPTIONS = (
    click.option(
        "--configuration",
        default="smallest",
        show_default=True,
        metavar="NAME|FILE",
        help="smallest, embedded, or a file of the kernel's options, one per line as in .config;"
        " options that cold code needs are added.",
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
    JSON,
)


def build_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, in the order above."""
    for option in reversed(BUILD_OPTIONS):
        function = option(function)
    return function

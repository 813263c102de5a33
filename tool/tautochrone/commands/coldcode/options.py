"""Options that several verbs of `tau coldcode` take."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from tautochrone.facts import plan_format

BELADY = "belady"
FACTS = plan_format.SECTIONS["code"]
POLICIES = tuple(FACTS["policy"]["values"])
FILE = click.Path(dir_okay=False, path_type=Path)
JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as one JSON document."
)
FRAMES = click.IntRange(FACTS["frames"]["least"], FACTS["frames"]["most"])
POLICY = click.Choice(POLICIES)
POLICY_OR_BELADY = click.Choice((*POLICIES, BELADY))


class Memory(click.ParamType):
    """A number of bytes, or of KiB or MiB as 300K or 2M."""

    name = "BYTES"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        found = re.fullmatch(r"(\d{1,12})([KM]?)(?:i?B)?", str(value), re.IGNORECASE | re.ASCII)
        if not found or not int(found[1]):
            self.fail(f"{value!r} is no number of bytes; write for example 300K", param, ctx)
        return int(found[1]) << {"": 0, "K": 10, "M": 20}[found[2].upper()]

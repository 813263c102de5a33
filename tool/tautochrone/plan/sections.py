"""The sections of a plan beside its heap: each is a table of iface/plan.toml and a module here.

The module has the table's name. What it offers is Section's; `value` is what its `make` returned.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, cast

from tautochrone.facts.plan_format import SECTIONS

HEAP = "heap"  # the section that every plan has; plan/file.py reads it
NAMES = tuple(name for name in SECTIONS if name != HEAP)


@dataclass(frozen=True)
class Basis:
    """What sections are made from.

    `heap_bytes` is what plain TLSF needs for the recordings, margin included; `sections` are those
    made before, by name. `note` tells people why a section, or a part of it, is missing, and what
    to do about it.
    """

    paths: Sequence[Path]
    skip_misuse: bool
    layout: str
    has_classes: bool
    heap_bytes: int
    note: Callable[[str, str | None], None]
    sections: Mapping[str, Any] = field(default_factory=dict)


class Section(Protocol):
    """A section's module."""

    def make(self, basis: Basis) -> Any:
        """The section's value; None if the plan is without it."""

    def from_table(self, table: dict[str, Any]) -> Any:
        """The value of a file's table, which the schema allows."""

    def to_table(self, value: Any) -> dict[str, Any]:
        """The table of a file."""

    def rule_broken(self, value: Any) -> str:
        """What does not hold between the keys, in words; empty if all does."""

    def document(self, value: Any) -> dict[str, Any]:
        """What `tau plan --json` says."""

    def told(self, value: Any) -> list[str]:
        """What `tau plan` tells people, in lines."""

    def header(self, value: Any) -> list[str]:
        """Lines of the C header."""

    def problems(self, value: Any) -> list[str]:
        """What is wrong with the installed core, for `tau check`."""


@functools.cache
def section_named(name: str) -> Section:
    """The module of a section in NAMES."""
    return cast(Section, importlib.import_module(f"tautochrone.plan.{name}"))


def make_sections(basis: Basis) -> dict[str, Any]:
    """The value of each section that a plan from this basis has, in the schema's order."""
    made: dict[str, Any] = {}
    for name in NAMES:
        value = section_named(name).make(replace(basis, sections=dict(made)))
        if value is not None:
            made[name] = value
    return made

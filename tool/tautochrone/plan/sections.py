"""The sections of a plan other than [heap]. Each is a table of facts/plan.toml and a module here.

The module has the table's name and the functions of Section, but those that do what OTHERWISE says.
Their `value` is the result of its `make`.
"""

from __future__ import annotations

import functools
import importlib
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from tautochrone.machine.core_build import Build
from tautochrone.facts import plan_format
from tautochrone.files import schema

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan
    from tautochrone.replay.open_trace import OpenTrace

HEAP = "heap"  # every plan of recordings has this section; plan/file.py reads it
TLB = "tlb"  # a plan of tasks has this one
CODE = "code"  # a plan of a kernel's code has this one
WITHOUT_HEAP = {TLB: "TLB sets", CODE: "cold code"}  # a plan with one of these may have no heap
NAMES = tuple(name for name in plan_format.SECTIONS if name != HEAP)
LATER = ("verified", TLB, CODE)  # no recording alone makes them, so their modules are not loaded


def _facts(place: str) -> dict[str, Any]:
    """The facts of a table of the schema, such as verified.runs."""
    facts: dict[str, Any] = {**plan_format.SECTIONS, "trace": plan_format.TRACE}
    for key in place.split("."):
        facts = facts[key]
    return facts


@functools.cache
def record_type(place: str) -> Any:
    """A named tuple with the keys of a table of the schema, such as verified.runs.

    A key that the file may lack is None then, or an empty text.
    """
    keys = schema.keys_of(_facts(place))
    optional = [fact for fact in keys.values() if fact.get("optional")]
    defaults = ["" if fact["type"] == "text" else None for fact in optional]
    return namedtuple(place.replace(".", "_"), keys, defaults=defaults)  # noqa: PYI024


def record_of(place: str, table: dict[str, Any]) -> Any:
    """The record of a table that the schema has checked; lists are tuples."""
    facts = _facts(place)
    return record_type(place)(
        **{
            key: tuple(record_of(f"{place}.{key}", row) for row in cell)
            if facts[key]["type"] == "table"
            else cell
            for key, cell in table.items()
        }
    )


@dataclass(frozen=True)
class Basis:
    """Inputs of sections.

    `heap_bytes` is plain TLSF's need for the recordings, margin included. `build` is how the
    core is built. `sections` are those made before, by name. `note` gets the reason and the next
    step for a section, or part of one, that is missing.
    """

    traces: Sequence[OpenTrace]
    skip_misuse: bool
    layout: str
    system: str  # of Plan
    heap_bytes: int
    build: Build
    note: Callable[[str, str | None], None]
    sections: Mapping[str, Any] = field(default_factory=dict)


class Section(Protocol):
    """A section's module."""

    def make(self, basis: Basis) -> Any:
        """Return the section's value; None if the plan has no such section."""

    def from_table(self, table: dict[str, Any]) -> Any:
        """Return the value of a file's table, which the schema has checked; else its record."""

    def to_table(self, value: Any) -> dict[str, Any]:
        """Return the table for a file; not needed if the value has the keys as attributes."""

    def rule_broken(self, value: Any) -> str:
        """Return the violated rule between the keys, in words; empty if there is none."""

    def document(self, value: Any) -> dict[str, Any]:
        """Return the object for `tau plan --json`."""

    def told(self, value: Any) -> list[str]:
        """Return the lines that `tau plan` prints."""

    def header(self, value: Any) -> list[str]:
        """Return lines of the C header."""

    def problems(self, value: Any, plan: Plan) -> list[str]:
        """Return what the section lacks and how the installed core differs, for `tau check`.

        `plan` is the whole plan.
        """


OTHERWISE: dict[str, Callable[..., Any]] = {
    "from_table": record_of,
    "to_table": lambda name, value: schema.table_of(value, plan_format.SECTIONS[name]),
    "document": lambda name, value: {name: section_named(name).to_table(value)},
    "header": lambda name, value: [],
    "problems": lambda name, value, plan: [],
}


class _Functions:
    """The functions of a section's module, and of OTHERWISE those that it lacks."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module = importlib.import_module(f"tautochrone.plan.{name}")

    def __getattr__(self, function: str) -> Callable[..., Any]:
        own = getattr(self._module, function, None)
        return own or functools.partial(OTHERWISE[function], self._name)


@functools.cache
def section_named(name: str) -> Section:
    """Return the functions of a section in NAMES."""
    return cast(Section, _Functions(name))


def make_sections(basis: Basis) -> dict[str, Any]:
    """Return the value of each section of a plan from this basis, in the schema's order."""
    made: dict[str, Any] = {}
    for name in (each for each in NAMES if each not in LATER):
        value = section_named(name).make(replace(basis, sections=dict(made)))
        if value is not None:
            made[name] = value
    return made

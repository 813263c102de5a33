"""Checks the tables of a plan against the schema, iface/plan.toml, and writes them in its order.

A message names the file and the key. This module does not know what a key means.
"""

from __future__ import annotations

import re
from typing import Any

from tautochrone.console.terminal import in_one_line
from tautochrone.errors import TauError

NEXT_STEP = "make the plan again with `tau plan`"
NEWER_STEP = "install a newer tautochrone, or make the plan again with this one"
VERSION_MOST = (1 << 63) - 1
Table = dict[str, Any]


def keys_of(facts: Table) -> Table:
    """The keys of a table or of a list's row, each with its facts."""
    return {name: fact for name, fact in facts.items() if isinstance(fact, dict)}


class Reader:
    """Checks tables of the file at `path`. Every method raises TauError for a violation."""

    def __init__(self, path: str) -> None:
        self.path = path

    def fail(self, text: str, next_step: str = NEXT_STEP) -> TauError:
        """Return the error `text` about the file."""
        return TauError(f"{self.path}: {text}", next_step)

    def section(self, name: str, table: Any, facts: Table) -> Table:
        """Return a section; its version must be known."""
        if not isinstance(table, dict):
            raise self.fail(f"{name} is not a table")
        fact = {"type": "integer", "least": 1, "most": VERSION_MOST}
        version = self.value(f"{name}.version", table.get("version", 1), fact)
        if version > facts["version"]:
            raise self.fail(
                f"[{name}] is of a newer version ({version}; this is {facts['version']})",
                NEWER_STEP,
            )
        rest = {key: value for key, value in table.items() if key != "version"}
        return self.table(f"{name}.", rest, facts)

    def table(self, place: str, table: Any, facts: Table) -> Table:
        """Return a table with every required key and no unknown one, in the schema's order."""
        if not isinstance(table, dict):
            raise self.fail(f"{place.rstrip('.')} is not a table")
        keys = keys_of(facts)
        for key in table:
            if key not in keys:
                raise self.fail(f"{place}{in_one_line(key)} is unknown")
        return {
            key: self.value(f"{place}{key}", table.get(key), fact)
            for key, fact in keys.items()
            if key in table or not fact.get("optional")
        }

    def value(self, place: str, value: Any, fact: Table) -> Any:
        """The value of a key."""
        checks = {
            "integer": self._integer,
            "fraction": self._fraction,
            "text": self._text,
            "list": self._list,
        }
        return checks[fact["type"]](place, value, fact)

    def _integer(self, place: str, value: Any, fact: Table) -> int:
        least, most = fact["least"], fact["most"]
        if type(value) is not int or not least <= value <= most:
            raise self.fail(
                f"{place} is {_short(value)}, expected an integer from {least} to {most}"
            )
        return value

    def _fraction(self, place: str, value: Any, fact: Table) -> float:
        least, most = fact["least"], fact["most"]
        if type(value) not in (int, float) or not least <= value <= most:
            raise self.fail(
                f"{place} is {_short(value)}, expected a number from {least:g} to {most:g}"
            )
        return float(value)

    def _text(self, place: str, value: Any, fact: Table) -> str:
        values, pattern = fact.get("values", ()), fact.get("pattern", "(?s:.*)")
        is_one = isinstance(value, str) and (not values or value in values)
        if is_one and re.fullmatch(pattern, value):
            return str(value)
        expected = f"one of {', '.join(values)}" if values else fact.get("expected", "a text")
        raise self.fail(f"{place} is {_short(value)}, expected {expected}")

    def _list(self, place: str, value: Any, fact: Table) -> list[Table]:
        if not isinstance(value, list):
            raise self.fail(f"{place} is not a list")
        if len(value) > fact["most"]:
            name = place.rpartition(".")[2]
            raise self.fail(
                f"{place} has {len(value)} {name}; at most {fact['most']} are allowed"
            )
        return [self.table(f"{place}[{index}].", row, fact) for index, row in enumerate(value)]


def _short(value: Any) -> str:
    if value is None:
        return "missing"
    if type(value) is int and value.bit_length() > 128:
        return "a number beyond 128 bits"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def table_lines(table: Table, facts: Table) -> list[str]:
    """Return the lines of a table, in the schema's order; missing keys are left out."""
    lines: list[str] = []
    for key, fact in keys_of(facts).items():
        if key in table:
            lines += _key_lines(key, table[key], fact)
    return lines


def _key_lines(key: str, value: Any, fact: Table) -> list[str]:
    if fact["type"] != "list":
        return [f"{key} = {_text_of(value, fact)}"]
    rows = (
        ", ".join(f"{name} = {_text_of(row[name], each)}" for name, each in keys_of(fact).items())
        for row in value
    )
    return [f"{key} = [", *(f"    {{ {row} }}," for row in rows), "]"]


def _text_of(value: Any, fact: Table) -> str:
    if fact["type"] == "text":
        return _quoted(value)
    return repr(float(value)) if fact["type"] == "fraction" else str(value)


def _quoted(text: str) -> str:
    """A TOML basic string."""
    clean = text.encode("utf-8", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    return (
        '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\u{ord(match.group()):04x}", clean) + '"'
    )

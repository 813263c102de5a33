"""Checks the tables of a TOML file against a schema of facts/, and writes them in its order.

A message names the file, the line if lines are known, and the key. This module does not know what
a key means. facts/plan.toml says how a schema is written.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from tautochrone.console.terminal import in_one_line
from tautochrone.errors import TauError
from tautochrone.files.toml_lines import line_of

VERSION_MOST = (1 << 63) - 1
Table = dict[str, Any]


def keys_of(facts: Table) -> Table:
    """The keys of a table or of a list's row, each with its facts."""
    return {name: fact for name, fact in facts.items() if isinstance(fact, dict)}


class Reader:
    """Checks tables of the file at `path`. Every method raises TauError for a violation.

    `next_step` is the advice for it, `newer_step` if the file is of a newer version. `lines` has
    the line of each place in the file (toml_lines.py).
    """

    def __init__(
        self, path: str, next_step: str, newer_step: str = "", lines: dict[str, int] | None = None
    ) -> None:
        self.path = path
        self.next_step = next_step
        self.newer_step = newer_step
        self.lines = lines or {}

    def fail(self, text: str, next_step: str | None = None, place: str = "") -> TauError:
        """Return the error `text` about the file, at the key or table `place`."""
        line = line_of(self.lines, place)
        where = f"{self.path}:{line}" if line else self.path
        return TauError(f"{where}: {text}", next_step or self.next_step)

    def be_table(self, name: str, table: Any) -> None:
        """Fail if and only if `table` is none."""
        if isinstance(table, list) and "[" not in name:
            raise self.fail(f"{name} is there once, so it is written [{name}]", place=name)
        if not isinstance(table, dict):
            raise self.fail(f"{name} is not a table", place=name)

    def section(self, name: str, table: Any, facts: Table) -> Table:
        """Return a section; its version must be known."""
        self.be_table(name, table)
        fact = {"type": "integer", "least": 1, "most": VERSION_MOST}
        version = self.value(f"{name}.version", table.get("version", 1), fact)
        if version > facts["version"]:
            raise self.fail(
                f"[{name}] has a newer version ({version}; this is {facts['version']})",
                self.newer_step,
                name,
            )
        rest = {key: value for key, value in table.items() if key != "version"}
        return self.table(f"{name}.", rest, facts)

    def table(self, place: str, table: Any, facts: Table) -> Table:
        """Return a table with every required key and no unknown one, in the schema's order."""
        self.be_table(place.rstrip("."), table)
        keys = keys_of(facts)
        for key in table:
            if key not in keys:
                name = f"{place}{in_one_line(key)}"
                raise self.fail(f"{name} is unknown{_meant(key, keys)}", place=f"{place}{key}")
        return {
            key: self.value(f"{place}{key}", table.get(key), fact)
            for key, fact in keys.items()
            if key in table or not fact.get("optional")
        }

    def value(self, place: str, value: Any, fact: Table) -> Any:
        """The value of a key."""
        if "many" in fact:
            self._be_list(place, value, fact["many"])
            one = {key: each for key, each in fact.items() if key != "many"}
            return [self.value(f"{place}[{index}]", each, one) for index, each in enumerate(value)]
        checks = {
            "integer": self._integer,
            "fraction": self._fraction,
            "text": self._text,
            "truth": self._truth,
            "table": lambda place, table, facts: self.table(f"{place}.", table, facts),
        }
        return checks[fact["type"]](place, value, fact)

    def _integer(self, place: str, value: Any, fact: Table) -> int:
        least, most = fact["least"], fact["most"]
        if type(value) is not int or not least <= value <= most:
            raise self.fail(
                f"{place} is {_short(value)}, expected an integer from {least} to {most}",
                place=place,
            )
        return value

    def _fraction(self, place: str, value: Any, fact: Table) -> float:
        least, most = fact["least"], fact["most"]
        if type(value) not in (int, float) or not least <= value <= most:
            raise self.fail(
                f"{place} is {_short(value)}, expected a number from {least:g} to {most:g}",
                place=place,
            )
        return float(value)

    def _text(self, place: str, value: Any, fact: Table) -> str:
        values, pattern = fact.get("values", ()), fact.get("pattern", "(?s:.*)")
        is_one = isinstance(value, str) and (not values or value in values)
        if is_one and re.fullmatch(pattern, value):
            return str(value)
        expected = f"one of {', '.join(values)}" if values else fact.get("expected", "a text")
        raise self.fail(f"{place} is {_short(value)}, expected {expected}", place=place)

    def _truth(self, place: str, value: Any, _fact: Table) -> bool:
        if not isinstance(value, bool):
            raise self.fail(f"{place} is {_short(value)}, expected true or false", place=place)
        return value

    def _be_list(self, place: str, value: Any, most: int) -> None:
        """Fail if and only if `value` is not a list, or has more than `most` items."""
        if not isinstance(value, list):
            wrong = "missing" if value is None else "not a list"
            raise self.fail(f"{place} is {wrong}", place=place)
        if len(value) > most:
            name = place.rpartition(".")[2]
            raise self.fail(
                f"{place} has {len(value)} {name}; at most {most} are allowed", place=place
            )


def _meant(key: str, keys: Iterable[str]) -> str:
    """The known key that a user may have meant, as the end of a message."""
    beginning = [each for each in keys if each.startswith(f"{key}_")]
    near = [*beginning, *get_close_matches(key, keys)][:1]
    return "".join(f"; is {each} meant?" for each in near)


def _short(value: Any) -> str:
    if value is None:
        return "missing"
    if type(value) is int and value.bit_length() > 128:
        return "a number beyond 128 bits"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def table_of(value: Any, facts: Table) -> Table:
    """The table of an object whose attributes are the schema's keys. Leaves out None, and empty
    texts of optional keys."""
    table: Table = {}
    for key, fact in keys_of(facts).items():
        cell = getattr(value, key)
        if fact.get("optional") and cell in (None, ""):
            continue
        rows = fact["type"] == "table"
        table[key] = [table_of(row, fact) for row in cell] if rows else cell
    return table


def table_lines(table: Table, facts: Table) -> list[str]:
    """Return the lines of a table, in the schema's order; missing keys are left out."""
    lines: list[str] = []
    for key, fact in keys_of(facts).items():
        if key in table:
            lines += _key_lines(key, table[key], fact)
    return lines


def _key_lines(key: str, value: Any, fact: Table) -> list[str]:
    if "many" not in fact or fact["type"] != "table":
        return [f"{key} = {_text_of(value, fact)}"]
    rows = (
        ", ".join(
            f"{name} = {_text_of(row[name], each)}"
            for name, each in keys_of(fact).items()
            if name in row
        )
        for row in value
    )
    return [f"{key} = [", *(f"    {{ {row} }}," for row in rows), "]"]


def _text_of(value: Any, fact: Table) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_text_of(each, fact) for each in value)}]"
    if fact["type"] == "text":
        return _quoted(value)
    return repr(float(value)) if fact["type"] == "fraction" else str(value).lower()  # also true


def _quoted(text: str) -> str:
    """A TOML basic string. Characters that a terminal could take for a command are escaped."""
    clean = text.encode("utf-8", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    shown = (each if each.isprintable() else f"\\U{ord(each):08x}" for each in clean)
    return f'"{"".join(shown)}"'

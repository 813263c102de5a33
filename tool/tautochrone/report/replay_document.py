"""What `tau replay --json` printed, as a report needs it: checked before anything is drawn."""

from __future__ import annotations

import re
from typing import Any

from tautochrone.code.images import ISAS

NUMBER_MAX = 2**63 - 1
UNITS = ("instructions", "cycles")
# The names that stand in rows "SYSTEM OPERATION".
NAME = re.compile(r"[\w:.+-]{1,80}", re.ASCII)
COUNTS = re.compile(r"(max|p999|bound|mean|hits|misses)(_\w+)?", re.ASCII)


class _Place:
    """A value of the document and where it is; every failure is a ValueError that names it."""

    def __init__(self, value: Any, where: str) -> None:
        self.value = value
        self.where = where

    def fail(self, expected: str) -> ValueError:
        shown = "missing" if self.value is None else repr(self.value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return ValueError(f"{self.where} is {shown}, expected {expected}")

    def at(self, key: str) -> _Place:
        """What an object has under a key; None if it has none."""
        return _Place(self.table().get(key), f"{self.where}.{key}".removeprefix("."))

    def table(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.fail("an object")
        return self.value

    def items(self) -> list[_Place]:
        if not isinstance(self.value, list):
            raise self.fail("a list")
        return [_Place(each, f"{self.where}[{i}]") for i, each in enumerate(self.value)]

    def number(self) -> None:
        if type(self.value) not in (int, float) or not 0 <= self.value <= NUMBER_MAX:
            raise self.fail(f"a number from 0 to {NUMBER_MAX}")

    def whole(self) -> None:
        if type(self.value) is not int or not 0 <= self.value <= NUMBER_MAX:
            raise self.fail(f"an integer from 0 to {NUMBER_MAX}")

    def wholes(self) -> int:
        """Check a list of integers; return how many there are."""
        items = self.items()
        for each in items:
            each.whole()
        return len(items)

    def truth(self) -> None:
        if type(self.value) is not bool:
            raise self.fail("true or false")

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.fail("a text")
        return self.value


def systems_of(document: Any) -> tuple[list[dict[str, Any]], str | None]:
    """Return the entries of "systems" and the target of their instructions.

    Raises ValueError, which names the place, for what the report cannot draw.
    """
    whole = _Place(document, "")
    if whole.at("command").value != "replay":
        raise whole.at("command").fail("'replay'")
    systems = whole.at("systems").items()
    for system in systems:
        _check_system(system)
    if whole.at("trace").value is not None:
        whole.at("trace").text()
    isa = whole.at("instructions")
    if isa.value is not None and isa.text() not in ISAS:
        raise isa.fail("one of " + ", ".join(ISAS))
    return [system.value for system in systems], isa.value


def causes_of(document: Any) -> list[str]:
    """Return why the replayed trace is not complete, a sentence each.

    Raises ValueError, which names the place, for what is no such document.
    """
    ending = _Place(document, "").at("ending")
    if ending.value is None or ending.at("remarks").value is None:
        return []
    return [remark.at("cause").text() for remark in ending.at("remarks").items()]


def _check_system(system: _Place) -> None:
    if not NAME.fullmatch(system.at("name").text()):
        raise system.at("name").fail("a name without blanks")
    system.at("completed").truth()
    system.at("footprint_bytes").whole()
    if system.at("cause").value is not None:
        system.at("cause").text()
    operations = system.at("operations")
    for name in operations.table() if operations.value is not None else ():
        if not NAME.fullmatch(name):
            raise _Place(name, operations.where).fail("names without blanks")
        _check_calls(operations.at(name))
    if system.at("peak_mapped_pages").value is not None:
        _check_pages(system)


def _check_calls(calls: _Place) -> None:
    """Check one operation; what was counted has its number of calls and both of its costs."""
    calls.at("count").whole()
    for key, value in calls.table().items():
        if COUNTS.fullmatch(key) and value is not None:
            calls.at(key).number()
    for unit in UNITS:
        if calls.at(f"max_{unit}").value is not None:
            calls.at(f"p999_{unit}").number()
    if calls.at("grows").value is not None:
        calls.at("grows").text()


def _check_pages(system: _Place) -> None:
    """Check what a system on pages has beside the others."""
    unit = "cycles" if system.at("cycles").value is not None else "instructions"
    for key in ("peak_mapped_pages", "faults", "cycles" if unit == "cycles" else "table_bytes"):
        system.at(key).whole()
    system.at("mean_mapped_pages").number()
    curve = system.at("mapped_pages")
    if len({curve.at(key).wholes() for key in ("event", "min", "max")}) != 1:
        raise curve.fail("three lists of equal length")
    operations = system.at("operations")
    for name in {*operations.table(), "malloc", "free"}:
        calls = operations.at(name)
        calls.at(f"max_{unit}").number()
        points = calls.at("by_size")
        if points.value is not None and (
            points.at("size_bytes").wholes() != points.at(unit).wholes()
        ):
            raise points.fail("two lists of equal length")


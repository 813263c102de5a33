"""Reads the output of `tau replay --json` back as entries, and checks it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tautochrone.machine.images import ISAS
from tautochrone.replay.entry import (
    BUILDS,
    PART_COUNTS,
    PARTS,
    HEAP_PARTS,
    ROLES,
    STATISTICS,
    UNITS,
    Entry,
    Measure,
    Operation,
    Pages,
    Scatter,
    Simulation,
)

NUMBER_MAX = 2**63 - 1
# Names that appear in rows "SYSTEM OPERATION".
NAME = re.compile(r"[\w:./+-]{1,200}", re.ASCII)
TOUCHES = ("recorded", "all")


@dataclass(frozen=True)
class ReplayDocument:
    """A document of `tau replay --json`.

    `isa` is the target that instructions were counted on. `incomplete` has a sentence for each
    reason why the replayed trace lacks events. `events` and `first_events` say how much of it was
    replayed.
    """

    entries: list[Entry]
    isa: str | None
    trace: str
    events: int | None
    first_events: int | None
    incomplete: list[str]


class _Place:
    """A value of the document and its place. Every failure is a ValueError that names the place."""

    def __init__(self, value: Any, where: str) -> None:
        self.value = value
        self.where = where

    def fail(self, expected: str) -> ValueError:
        shown = "missing" if self.value is None else repr(self.value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return ValueError(f"{self.where} is {shown}, expected {expected}")

    def at(self, key: str) -> _Place:
        """Return an object's value of a key; None if it has none."""
        return _Place(self.table().get(key), f"{self.where}.{key}".removeprefix("."))

    def table(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.fail("an object")
        return self.value

    def items(self) -> list[_Place]:
        if not isinstance(self.value, list):
            raise self.fail("a list")
        return [_Place(each, f"{self.where}[{i}]") for i, each in enumerate(self.value)]

    def number(self) -> float:
        if type(self.value) not in (int, float) or not 0 <= self.value <= NUMBER_MAX:
            raise self.fail(f"a number from 0 to {NUMBER_MAX}")
        return self.value  # type: ignore[no-any-return]

    def whole(self) -> int:
        if type(self.value) is not int or not 0 <= self.value <= NUMBER_MAX:
            raise self.fail(f"an integer from 0 to {NUMBER_MAX}")
        return self.value

    def wholes(self) -> list[int]:
        return [each.whole() for each in self.items()]

    def truth(self) -> bool:
        if type(self.value) is not bool:
            raise self.fail("true or false")
        return self.value

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.fail("a text")
        return self.value

    def one_of(self, known: tuple[str, ...]) -> str:
        if self.value not in known:
            raise self.fail("one of " + ", ".join(known))
        return self.text()

    def name(self) -> str:
        if not NAME.fullmatch(self.text()):
            raise self.fail("a name without blanks")
        return self.text()

    def optional(self, read: str) -> Any:
        """Return the result of the method `read`; None if the document has no value."""
        return None if self.value is None else getattr(self, read)()


def document_of(parsed: Any) -> ReplayDocument:
    """Read a parsed document. Raises ValueError with the place of an invalid value."""
    whole = _Place(parsed, "")
    if whole.at("command").value != "replay":
        raise whole.at("command").fail("'replay'")
    systems = whole.at("systems").items()
    entries = [_entry(system) for system in systems]
    names: set[str] = set()
    for system in systems:
        if system.at("name").value in names:
            raise system.at("name").fail("a name that no other system has")
        names.add(system.at("name").value)
    isa = whole.at("instructions").optional("text")
    if isa is not None and isa not in ISAS:
        raise whole.at("instructions").fail("one of " + ", ".join(ISAS))
    ending = whole.at("ending")
    incomplete = []
    if ending.value is not None and ending.at("remarks").value is not None:
        incomplete = [remark.at("cause").text() for remark in ending.at("remarks").items()]
    return ReplayDocument(
        entries,
        isa,
        whole.at("trace").optional("text") or "",
        whole.at("events").optional("whole"),
        whole.at("first_events").optional("whole"),
        incomplete,
    )


def _entry(system: _Place) -> Entry:
    """One system of the document."""
    name, listed = system.at("name").name(), system.at("operations")
    operations = {}
    for kind in listed.table() if listed.value is not None else ():
        _Place(kind, listed.where).name()
        operations[kind] = _operation(kind, listed.at(kind))
    pages = None if system.at("peak_mapped_pages").value is None else _pages(system)
    simulation = None if system.at("cycles").value is None else _simulation(system)
    return Entry(
        name=name,
        role=system.at("role").one_of(ROLES),
        held=system.at("completed").truth(),
        footprint_bytes=system.at("footprint_bytes").whole(),
        footprint_ratio=system.at("footprint_ratio").optional("number"),
        failed_at_event=system.at("failed_at_event").optional("whole"),
        cause=system.at("cause").optional("text"),
        operations=operations,
        events=system.at("events").optional("whole"),
        layout=system.at("layout").optional("text") or "32",
        estimate=system.at("estimate").optional("text") or "",
        in_process=bool(system.at("in_process").optional("truth")),
        plan_heap_bytes=system.at("plan_heap_bytes").optional("whole"),
        plan_holds=system.at("plan_holds").optional("truth"),
        heap_parts=_heap_parts(system),
        pages=pages,
        simulation=simulation,
    )


def _heap_parts(system: _Place) -> dict[str, int] | None:
    """The parts of a heap, whose sum is its size."""
    found = system.at("heap_parts")
    if found.value is None:
        return None
    parts = {name: found.at(name).whole() for name in HEAP_PARTS}
    if sum(parts.values()) != system.at("footprint_bytes").value:
        raise found.fail("parts whose sum is footprint_bytes")
    return parts


def _operation(kind: str, calls: _Place) -> Operation:
    """Read one operation: each measure needs its number of calls, its maximum and 99.9 %."""
    count = calls.at("count").whole()
    measures = []
    for unit in UNITS:
        for part in PARTS:
            for build in BUILDS:
                plain = Measure(unit, part=part, build=build)
                if calls.at(plain.key("max")).value is not None:
                    measures.append(_measure(plain, calls))
    parts = {
        part: calls.at(key).whole()
        for part, key in PART_COUNTS.items()
        if calls.at(key).value is not None
    }
    histogram = calls.at("histogram")
    return Operation(
        kind,
        count,
        tuple(measures),
        parts,
        calls.at("grows").optional("text"),
        _by_size(calls.at("by_size"), measures),
        None if histogram.value is None else [each.wholes() for each in histogram.items()],
    )


def _measure(plain: Measure, calls: _Place) -> Measure:
    """Read the statistics of a measure; the maximum and the 99.9 % are required."""
    said: Mapping[str, Any] = {
        name: calls.at(plain.key(name)).optional("number") for name in STATISTICS
    }
    calls.at(plain.key("p999")).number()
    return Measure(plain.unit, **said, part=plain.part, build=plain.build)


def _by_size(points: _Place, measures: list[Measure]) -> Scatter | None:
    """Read the cost of calls over the object's size, in the first measured unit."""
    if points.value is None or not measures:
        return None
    sizes, costs = points.at("size_bytes").wholes(), points.at(measures[0].unit).wholes()
    if len(sizes) != len(costs):
        raise points.fail("two lists of equal length")
    return Scatter(sizes, costs, points.at("calls").optional("wholes"))


def _pages(system: _Place) -> Pages:
    """Read the mapped pages of a system."""
    curve = {key: system.at("mapped_pages").at(key).wholes() for key in ("event", "min", "max")}
    if len({len(values) for values in curve.values()}) != 1:
        raise system.at("mapped_pages").fail("three lists of equal length")
    for kind in ("malloc", "free"):
        if system.at("operations").at(kind).value is None:
            raise system.at("operations").at(kind).fail("an object")
    return Pages(
        peak=system.at("peak_mapped_pages").whole(),
        mean=system.at("mean_mapped_pages").number(),
        end=system.at("end_mapped_pages").optional("whole") or 0,
        faults=system.at("faults").whole(),
        touches=system.at("touches").optional("whole") or 0,
        touch=system.at("touch").optional("text") or TOUCHES[0],
        frames=system.at("frames").optional("whole") or 0,
        curve=curve,
        heap_pages=system.at("heap_pages").optional("whole"),
        table_bytes=system.at("table_bytes").optional("whole"),
    )


def _simulation(system: _Place) -> Simulation:
    """Read the run time of the tile."""
    counters = system.at("counters")
    return Simulation(
        system.at("cycles").whole(),
        system.at("start_cycles").optional("whole") or 0,
        {}
        if counters.value is None
        else {key: counters.at(key).whole() for key in counters.table()},
    )

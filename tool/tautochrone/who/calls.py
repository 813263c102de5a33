"""The calls that an allocator refused, in a replay or in the recorded firmware."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from typing import Any, NamedTuple

from tautochrone.console import output
from tautochrone.trace.file import OPS, TraceReader
from tautochrone.who.places import Place, Places


class Call(NamedTuple):
    """An event of a recording; `place` is None if it has no call site."""

    event: int
    op: str
    size_bytes: int
    place: Place | None

    def told(self) -> str:
        """The call in words."""
        where = f" from {self.place.told()}" if self.place is not None else ""
        asked = "" if self.op == "free" else f" of {self.size_bytes:,} bytes"
        return f"{self.op}{asked}{where}"

    @property
    def where(self) -> Place:
        """The place; one that is not known without a call site."""
        return self.place or Place("", 0)

    def document(self) -> dict[str, Any]:
        """Return its JSON object."""
        place = self.where
        site = {"module": place.module, "offset": place.offset} if self.place is not None else {}
        asked = {"event": self.event, "op": self.op, "size_bytes": self.size_bytes}
        return {**asked, **{"module": None, "offset": None, **site}, **place.document()}


REFUSED = ("count", "bytes", "thread", "site", "event", "live_bytes")


def refusals_told(reader: TraceReader, places: Places) -> str:
    """The requests that the recorded firmware's heap refused, in words; empty if none is known."""
    refused = reader.header.get("refused")
    found = [refused.get(name) for name in REFUSED] if isinstance(refused, dict) else []
    if not found or any(type(value) is not int or value < 0 for value in found):
        return ""
    count, size_bytes, thread, site, event, live_bytes = found
    where = ""
    if 0 < site <= reader.totals.sites:
        (place,) = places.named([reader.sites()[site - 1]])
        where = f" from {place.told()}"
    return (
        f"refused {output.count(count, 'request')}, the first of {size_bytes:,} bytes{where} in"
        f" thread {thread}, after {output.count(event, 'event')}, with {live_bytes:,} bytes live"
    )


def calls_at(reader: TraceReader, events: Iterable[int | None]) -> dict[int, Call]:
    """The calls of these events by number."""
    known = range(reader.totals.events)  # an empty trace has no event at which a system fails
    wanted = sorted({event for event in events if event is not None and event in known})
    if not wanted:
        return {}
    starts = [reader.first_event(block) for block in range(reader.totals.blocks)]
    rows = {}
    for event in wanted:
        block = bisect.bisect_right(starts, event) - 1
        columns = next(reader.columns(("op", "size_bytes", "site"), block))
        at = event - starts[block]
        rows[event] = (int(columns.op[at]), int(columns.size_bytes[at]), int(columns.site[at]))
    sites = reader.sites()
    numbers = sorted({site for _, _, site in rows.values() if site})
    found = Places(reader.header).named([sites[number - 1] for number in numbers])
    places = dict(zip(numbers, found, strict=True))
    return {
        event: Call(event, OPS[op], size, places.get(site))
        for event, (op, size, site) in rows.items()
    }

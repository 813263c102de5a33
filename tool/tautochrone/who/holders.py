"""What each call site of a recording holds at the peak and at the end, and how long objects live.

A resize ends an object and makes another one, at the site of the resize.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tautochrone.errors import TauError
from tautochrone.facts import trace_format
from tautochrone.trace.file import Columns, TraceReader

COLUMNS = ("op", "slot", "size_bytes", "site", "flags", "time_ns")
WHOLE = ("peak_bytes", "peak_objects", "left_bytes", "left_objects", "made", "ended")
MISUSE = ("double_frees", "unknown_frees")
SUMS = ("made_bytes", "lived")
# Sums of sizes and times of all events may exceed 64 bits: they are exact below 2^53.
COUNT = np.dtype(
    [(name, np.int64) for name in (*WHOLE, *MISUSE)]
    + [("longest", np.uint64), *((name, np.float64) for name in SUMS)]
)
PEAK_BYTES_MAX = 1 << 62


class Holders(NamedTuple):
    """`counts` has a COUNT for each site by its number; 0 is calls without a site.

    `peak_event` is the first event after which most bytes are alive, None if there is none.
    `first_misuse` is the first double or unknown free of each site.
    """

    counts: np.ndarray
    peak_event: int | None
    first_misuse: Mapping[int, int]


def holders_of(reader: TraceReader) -> Holders:
    """Count a recording in one pass, with memory for its slots and sites.

    Raises TauError if its peak is above 2^62 bytes.
    """
    if reader.totals.peak_live_bytes >= PEAK_BYTES_MAX:
        raise TauError(
            f"{reader.path}: its peak is above {PEAK_BYTES_MAX:,} bytes",
            "sizes near the largest integer are failed allocations; remove them",
        )
    count = _Count(reader.totals.slots_count_max, reader.totals.sites)
    for columns in reader.columns(COLUMNS):
        count.take(columns)
    return count.result()


class _Events(NamedTuple):
    """Events of a block that make or end objects, by their number in it. `was_…` is of the object
    that an event ends.
    """

    number: np.ndarray
    makes: np.ndarray
    ends: np.ndarray
    site: np.ndarray
    size: np.ndarray
    time: np.ndarray
    was_site: np.ndarray
    was_size: np.ndarray
    was_made: np.ndarray  # when


class _Count:
    """The state between blocks: each slot's object, each site's live bytes and objects."""

    def __init__(self, slots: int, sites: int) -> None:
        self.counts = np.zeros(sites + 1, COUNT)
        self.live_bytes, self.live_objects = np.zeros((2, sites + 1), np.int64)
        self.slots = np.zeros((3, slots), np.int64)  # The site, size and time of each object.
        self.bytes, self.peak_bytes, self.events = 0, 0, 0
        self.peak_event: int | None = None
        self.first_misuse: dict[int, int] = {}

    def take(self, columns: Columns) -> None:
        """Count a block."""
        self._take_misuse(columns)
        events = self._events(columns)
        self._take_live(events)
        self._take_lives(events)
        self.events += len(columns.op)

    def _take_misuse(self, columns: Columns) -> None:
        flags = (trace_format.FLAG_DOUBLE_FREE, trace_format.FLAG_UNKNOWN)
        for name, flag in zip(MISUSE, flags, strict=True):
            places = np.flatnonzero(columns.flags == flag)
            np.add.at(self.counts[name], columns.site[places], 1)
            sites, first = np.unique(columns.site[places], return_index=True)
            for site, place in zip(sites.tolist(), places[first].tolist(), strict=True):
                event = self.events + place
                self.first_misuse[site] = min(event, self.first_misuse.get(site, event))

    def _events(self, columns: Columns) -> _Events:
        number = np.flatnonzero((columns.flags == 0) & (columns.op != trace_format.OP_TOUCH))
        op, slot = columns.op[number], columns.slot[number]
        # The object that an event ends is of the event before it in the same slot, or older.
        order = np.argsort(slot, kind="stable")
        is_same = slot[order[1:]] == slot[order[:-1]]
        this, last = order[1:][is_same], order[:-1][is_same]
        now, was = [], []
        for column, carried in zip(
            (columns.site, columns.size_bytes, columns.time_ns), self.slots, strict=True
        ):
            values = column[number].astype(np.int64)
            before = carried[slot]
            before[this] = values[last]
            carried[slot[order]] = values[order]  # Of equal slots the last one stays.
            now.append(values)
            was.append(before)
        ends = (op == trace_format.OP_FREE) | (op == trace_format.OP_REALLOC)
        return _Events(number, op != trace_format.OP_FREE, ends, *now, *was)

    def _take_live(self, events: _Events) -> None:
        """Move live bytes and objects between sites, and keep them where most bytes are alive."""
        plus, minus = events.size * events.makes, events.was_size * events.ends
        running = self.bytes + np.cumsum(plus - minus)
        behind_peak = 0
        if len(running) and int(running.max()) > self.peak_bytes:
            behind_peak = int(running.argmax()) + 1
            self._move(events, slice(behind_peak))
            self.peak_bytes = int(running.max())
            self.peak_event = self.events + int(events.number[behind_peak - 1])
            self.counts["peak_bytes"] = self.live_bytes
            self.counts["peak_objects"] = self.live_objects
        self._move(events, slice(behind_peak, None))
        self.bytes = int(running[-1]) if len(running) else self.bytes

    def _move(self, events: _Events, part: slice) -> None:
        makes, ends = events.makes[part], events.ends[part]
        site, was_site = events.site[part][makes], events.was_site[part][ends]
        np.add.at(self.live_bytes, site, events.size[part][makes])
        np.subtract.at(self.live_bytes, was_site, events.was_size[part][ends])
        np.add.at(self.live_objects, site, 1)
        np.subtract.at(self.live_objects, was_site, 1)

    def _take_lives(self, events: _Events) -> None:
        """Count the objects of each site, and how long those that ended were alive."""
        sites, makes = len(self.counts), events.makes
        self.counts["made"] += np.bincount(events.site[makes], minlength=sites)
        self.counts["made_bytes"] += np.bincount(events.site[makes], events.size[makes], sites)
        whose, ends = events.was_site[events.ends], events.ends
        lived = (events.time - events.was_made)[ends].view(np.uint64)  # as times, modulo 2^64
        self.counts["ended"] += np.bincount(whose, minlength=sites)
        self.counts["lived"] += np.bincount(whose, lived, sites)
        np.maximum.at(self.counts["longest"], whose, lived)

    def result(self) -> Holders:
        """What was counted so far."""
        self.counts["left_bytes"] = self.live_bytes
        self.counts["left_objects"] = self.live_objects
        return Holders(self.counts, self.peak_event, self.first_misuse)

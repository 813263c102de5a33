"""Computes a trace's live bytes and live objects over time, thinned for a screen.

Thinning keeps every maximum: time is divided into equal bins, and the smallest and the largest
value of each bin stay. It takes one pass over the trace's blocks, and memory for one block and the
slots.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tautochrone.console.output import time_unit
from tautochrone.facts import trace_format as form

# The columns that are read from a trace's blocks.
COLUMNS = ("time_ns", "size_bytes", "slot", "op", "flags")


@dataclass
class Band:
    """Smallest, largest and last value of each bin of a curve; `none` for a bin without events."""

    bins: int
    low: np.ndarray = field(init=False)
    high: np.ndarray = field(init=False)
    last: np.ndarray = field(init=False)
    seen: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.low = np.full(self.bins, np.iinfo(np.int64).max)
        self.high = np.full(self.bins, np.iinfo(np.int64).min)
        self.last = np.zeros(self.bins, np.int64)
        self.seen = np.zeros(self.bins, bool)

    def add(self, starts: np.ndarray, bin_of_start: np.ndarray, values: np.ndarray) -> None:
        """Add a block: the runs of `values` that begin at `starts` belong to the given bins."""
        np.minimum.at(self.low, bin_of_start, np.minimum.reduceat(values, starts))
        np.maximum.at(self.high, bin_of_start, np.maximum.reduceat(values, starts))
        ends = np.append(starts[1:], len(values)) - 1
        self.last[bin_of_start] = values[ends]
        self.seen[bin_of_start] = True

    def close(self) -> None:
        """Give bins without events the value at their beginning (0 before the first event)."""
        before = np.maximum.accumulate(np.where(self.seen, np.arange(self.bins), -1))
        held = np.where(before >= 0, self.last[before], 0)
        self.low = np.where(self.seen, self.low, held)
        self.high = np.where(self.seen, self.high, held)


@dataclass
class Curves:
    """The result of `curves_of`. `x` has the beginning of each bin, in `unit` or events ("")."""

    x: np.ndarray
    unit: str
    live_bytes: Band
    peak_bytes: int
    peak_x: float
    end_bytes: int
    classes: dict[int, Band]

    @property
    def x_label(self) -> str:
        """The name and unit of the x axis."""
        return f"time ({self.unit})" if self.unit else "event"


def curves_of(
    blocks: Iterable[Any],
    *,
    events: int,
    duration_ns: int,
    slots_count_max: int,
    class_sizes: Iterable[int] = (),
    granule_bytes: int = 8,
    is_banded: bool = False,
    bins: int = 1500,
) -> Curves:
    """Read `blocks`, columns of events with at least those named in COLUMNS.

    `class_sizes` are the plan's sizes in bytes. An object's size, rounded up to `granule_bytes`, is
    its class; with `is_banded` the next larger size of the plan is. The x axis of a trace without
    times (duration 0) is the event.
    """
    is_time = duration_ns > 0
    x_end = duration_ns if is_time else max(events - 1, 1)
    bins = max(1, min(bins, events))
    shift = max((x_end * bins).bit_length() - 62, 0)  # a long time's bins are found in 64 bits, too
    live, live_band = 0, Band(bins)
    peak, peak_at = 0, 0
    counts = {size: 0 for size in class_sizes}
    bands = {size: Band(bins) for size in counts}
    tops = np.array(sorted(counts), np.int64)
    size_of_slot = np.zeros(slots_count_max + 1, np.int64)
    first_event = 0
    for block in blocks:
        position = (block.time_ns >> np.uint64(shift)).astype(np.int64)
        if not is_time:
            position = first_event + np.arange(len(position), dtype=np.int64)
        first_event += len(position)
        counted = (block.slot != form.SLOT_NONE) & ((block.flags & form.FLAG_DOUBLE_FREE) == 0)
        counted &= block.op != form.OP_TOUCH
        if not counted.any():
            continue
        position = position[counted]
        slots = block.slot[counted].astype(np.int64)
        sizes = np.where(block.op == form.OP_FREE, 0, block.size_bytes)[counted].astype(np.int64)
        before = _sizes_before(slots, sizes, size_of_slot)
        which = np.minimum(position * bins // ((x_end >> shift) + 1), bins - 1)
        starts = np.flatnonzero(np.append(True, which[1:] != which[:-1]))
        values = live + np.cumsum(sizes - before)
        live = int(values[-1])
        live_band.add(starts, which[starts], values)
        if int(values.max()) > peak:
            peak, peak_at = int(values.max()), int(position[int(values.argmax())]) << shift
        rounded, rounded_before = (-(-s // granule_bytes) * granule_bytes for s in (sizes, before))
        if is_banded:
            rounded, rounded_before = (_bands(s, tops) for s in (rounded, rounded_before))
        for size, band in bands.items():
            change = (rounded == size).astype(np.int64) - (rounded_before == size)
            values = counts[size] + np.cumsum(change)
            counts[size] = int(values[-1])
            band.add(starts, which[starts], values)
    for band in (live_band, *bands.values()):
        band.close()
    unit, unit_ns = time_unit(duration_ns) if is_time else ("", 1)
    scale = 1 / unit_ns
    x = np.arange(bins) * ((x_end + 1) / bins) * scale
    return Curves(x, unit, live_band, peak, peak_at * scale, live, bands)


def _bands(sizes: np.ndarray, tops: np.ndarray) -> np.ndarray:
    """Return the band's largest size for each size; 0 for 0, and for sizes above all bands."""
    above = np.append(tops, 0)[np.searchsorted(tops, sizes)]
    return np.where(sizes > 0, above, 0)


def _sizes_before(slots: np.ndarray, sizes: np.ndarray, size_of_slot: np.ndarray) -> np.ndarray:
    """Return the bytes that each event's slot held before the event; update `size_of_slot`.

    A stable sort by slot keeps the order of events within a slot, so the previous event is
    adjacent.
    """
    order = np.argsort(slots, kind="stable")
    sorted_slots, sorted_sizes = slots[order], sizes[order]
    is_first = np.append(True, sorted_slots[1:] != sorted_slots[:-1])
    sorted_before = np.append(0, sorted_sizes[:-1])
    sorted_before[is_first] = size_of_slot[sorted_slots[is_first]]
    before = np.empty_like(sorted_before)
    before[order] = sorted_before
    is_last = np.append(is_first[1:], True)
    size_of_slot[sorted_slots[is_last]] = sorted_sizes[is_last]
    return before

"""Bands of sizes with limits, for the heap of core/pools.h: the smallest arena that cannot fail.

A band is a range of sizes; its limit is the most of its objects that were alive at once, in the
recording that needs most. Bands do not depend on each other, so dynamic programming over the
recorded sizes finds the best borders, byte for byte: block times limit, the tables of each band,
and a table of sizes whose steps must keep borders apart. The order of calls does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tautochrone import native
from tautochrone.errors import TauError
from tautochrone.facts import trace_format
from tautochrone.heap.limits import Matched
from tautochrone.trace.file import TraceReader

SIZES_MAX = 4096
BANDS_MAX = 64  # TAU_BUDGET_CLASSES_MAX
LEVELS = range(9)  # of the table of sizes: up to POOLS_SIZE_LEVEL_MAX
UNREACHED = 1 << 60
COLUMNS = ("op", "slot", "size_bytes", "align_log2", "flags", "site")
EVENT = np.dtype([(name, np.uint64) for name in COLUMNS])


class Sizes(NamedTuple):
    """What was alive of each size, in the form that tau_bands_peaks takes.

    `sizes_bytes` ascend. An object's size is rounded up to the granule, or to its alignment if that
    is larger; `alignments` has the largest alignment of each size's objects.
    """

    sizes_bytes: np.ndarray
    alignments: np.ndarray
    changes: np.ndarray
    first: np.ndarray
    instants_count: int


class Band(NamedTuple):
    """Objects larger than the next smaller band's block, in `count` blocks of `size_bytes`."""

    size_bytes: int
    count: int


class Build(NamedTuple):
    """The build of the target's core, and what its tables take: docs/spec/pools.md."""

    word_bytes: int = 4
    check_level: int = 1

    def arena_bytes(self, bands: Sequence[Band], alignment_bytes: int) -> int:
        """What tau_pools_init needs; 0 if no table of sizes holds these bands."""
        level = f"_check{self.check_level}" if self.check_level else ""
        core = native.library(f"libtau_core{8 * self.word_bytes}{level}.so")
        rows = np.array([tuple(band) for band in bands], [("size_bytes", "u4"), ("count", "u4")])
        return int(core.tau_pools_size(rows, len(rows), alignment_bytes, 0))

    @property
    def granule_bytes(self) -> int:
        """TAU_ALIGNMENT."""
        return 2 * self.word_bytes

    @property
    def band_bytes(self) -> int:
        """A class of eight words, a counter, and an entry of the plan's order."""
        return 9 * self.word_bytes + 1

    def bits_bytes(self, counts: np.ndarray) -> np.ndarray:
        """The in-use bits of so many blocks."""
        return -(-counts // 32) * 4 if self.check_level else np.zeros_like(counts)


class Best(NamedTuple):
    """The best bands, in ascending order, and the least that any choice of bands takes."""

    bands: tuple[Band, ...]
    least_bytes: int


# ---- what was recorded -------------------------------------------------------------------------


class _Recorded(NamedTuple):
    """Changes in the order of events; each names the object by its size and alignment."""

    size: np.ndarray
    alignment: np.ndarray
    instant: np.ndarray
    delta: np.ndarray


def sizes_of(
    readers: Sequence[TraceReader], granule_bytes: int, matched: Matched | None = None
) -> Sizes:
    """The sizes of all recordings, whose instants follow each other; each starts empty.

    Objects that `matched` limits are left out, but their sizes are there.
    """
    parts, instant = [], 0
    for reader in readers:
        parts.append(_changes_of(reader, granule_bytes, instant, matched))
        instant = int(parts[-1].instant.max(initial=instant)) + 1
    size, alignment, instants, delta = (np.concatenate(each) for each in zip(*parts, strict=True))
    limited = sorted(set().union(*matched.keys)) if matched is not None else []
    sizes_bytes = np.union1d(size, np.array(limited, np.int64))
    index = np.searchsorted(sizes_bytes, size)
    if len(sizes_bytes) > SIZES_MAX:
        raise TauError(
            f"the recordings have {len(sizes_bytes):,} different sizes; bands are planned for up to"
            f" {SIZES_MAX:,}",
            "plan without --guarantee",
        )
    alignments = np.full(len(sizes_bytes), granule_bytes, np.int64)
    np.maximum.at(alignments, index, alignment)
    order = np.lexsort((instants, index))
    changes = np.zeros(len(order), native.struct("tau_bands_change"))
    changes["instant"], changes["delta"] = instants[order], delta[order]
    first = np.searchsorted(index[order], np.arange(len(sizes_bytes) + 1)).astype(np.uint64)
    return Sizes(sizes_bytes, alignments, changes, first, instant)


def _events_of(reader: TraceReader) -> np.ndarray:
    """The events that make, resize or free an object."""
    blocks = []
    for columns in reader.columns(COLUMNS):
        block = np.empty(len(columns.op), EVENT)
        for name in COLUMNS:
            block[name] = getattr(columns, name)
        blocks.append(block[(block["flags"] == 0) & (block["op"] != trace_format.OP_TOUCH)])
    return np.concatenate(blocks) if blocks else np.empty(0, EVENT)


def _changes_of(
    reader: TraceReader, granule_bytes: int, instant: int, matched: Matched | None
) -> _Recorded:
    """The changes of a recording whose first instant is `instant`.

    All rises up to the next fall are one instant: only before a fall can more be alive than ever.
    What is alive at the end falls in an instant of its own.
    """
    events = _events_of(reader)
    makes = events["op"] != trace_format.OP_FREE
    ends = (events["op"] == trace_format.OP_FREE) | (events["op"] == trace_format.OP_REALLOC)
    alignment = 1 << np.minimum(events["align_log2"], 40).astype(np.int64)
    alignment = np.maximum(alignment, granule_bytes)
    asked = np.maximum(events["size_bytes"].astype(np.int64), 1)
    size = -(-asked // alignment) * alignment
    # The object that an event ends is that of the event before it in the same slot.
    by_slot = np.argsort(events["slot"], kind="stable")
    before = np.zeros(len(events), np.int64)
    before[by_slot[1:]] = by_slot[:-1]
    at = instant + np.cumsum(ends)
    stays = makes.copy()
    stays[before[ends]] = False
    made, ended, left = np.flatnonzero(makes), before[ends], np.flatnonzero(stays)
    end = int(at[-1]) + 1 if len(at) else instant
    objects = np.concatenate([ended, made, left])
    instants = np.concatenate([at[ends], at[makes], np.full(len(left), end)])
    delta = np.repeat([-1, 1, -1], [len(ended), len(made), len(left)])
    if matched is not None:
        counts = ~matched.excluded(reader, events["site"], size)[objects]
        objects, instants, delta = objects[counts], instants[counts], delta[counts]
    return _Recorded(size[objects], alignment[objects], instants, delta)


def peaks_of(sizes: Sizes) -> np.ndarray:
    """[low, high]: the most objects of the sizes number `low` … `high` that were alive at once."""
    count = len(sizes.sizes_bytes)
    peaks = np.zeros((count, count), np.uint32)
    if not native.library().tau_bands_peaks(
        sizes.changes, sizes.first, count, sizes.instants_count, peaks
    ):
        raise TauError("not enough memory to plan bands", "plan fewer recordings at once")
    return peaks


# ---- the best borders --------------------------------------------------------------------------


def best_bands(sizes: Sizes, peaks: np.ndarray, build: Build) -> Best:
    """The bands with the smallest arena.

    Time: O(sizes²) for each level of the table of sizes.
    """
    found = [_Level(sizes, peaks, build, level) for level in LEVELS]
    least = min(each.solve(0)[0] + each.table_bytes for each in found)
    candidates = []
    for each in found:
        solved = each.within(BANDS_MAX)
        if solved is not None:
            candidates.append((solved[0] + each.table_bytes, each.bands(solved[1])))
    if not candidates:
        raise TauError("no bands that a table of sizes can hold", "report this as a bug")
    return Best(min(candidates)[1], least)


class _Level:
    """The search with a table of sizes whose steps are 2^-level of a size."""

    def __init__(self, sizes: Sizes, peaks: np.ndarray, build: Build, level: int) -> None:
        self.sizes, self.peaks, self.build = sizes, peaks, build
        unit = build.granule_bytes
        keys = (sizes.sizes_bytes - 1) // unit
        self.step = _step_of(keys, level)
        self.is_inside = self.step == _step_of(keys + 1, level)
        self.table_bytes = int(self.step[-1]) + 1
        self.next_bytes = np.append(sizes.sizes_bytes[1:], UNREACHED)

    def blocks(self, high: int) -> np.ndarray:
        """The block of the band low … high for each low: its largest size at its alignment."""
        alignment = np.maximum.accumulate(self.sizes.alignments[high::-1])[::-1]
        return -(-self.sizes.sizes_bytes[high] // alignment) * alignment

    def solve(self, penalty_bytes: int) -> tuple[int, list[int]]:
        """The least bytes, without the penalty for each band, and the first size of each band."""
        count = len(self.sizes.sizes_bytes)
        least = np.full(count + 1, UNREACHED)
        least[0] = 0
        start = np.zeros(count + 1, np.int64)
        for high in range(count):
            counts = self.peaks[: high + 1, high].astype(np.int64)
            blocks = self.blocks(high)
            cost = least[: high + 1] + blocks * counts + self.build.bits_bytes(counts)
            cost[blocks >= self.next_bytes[high]] = UNREACHED  # it would hold the next size too
            if self.is_inside[high]:  # two borders in one step
                cost[1:][self.step[:high] == self.step[high]] = UNREACHED
            start[high + 1] = low = int(np.argmin(cost))
            least[high + 1] = min(cost[low] + self.build.band_bytes + penalty_bytes, UNREACHED)
        lows, at = [], count
        while at > 0:
            at = int(start[at])
            lows.append(at)
        return int(least[count]) - penalty_bytes * len(lows), lows[::-1]

    def within(self, bands_max: int) -> tuple[int, list[int]] | None:
        """The best of the solutions that penalties give with at most so many bands."""
        low, high = 0, 1
        solved = self.solve(0)
        while len(solved[1]) > bands_max and high < UNREACHED // 4096:
            low, high = high, high * 4
            solved = self.solve(high)
        if solved[0] >= UNREACHED or len(solved[1]) > bands_max:
            return None
        while high - low > 1 and low > 0:
            middle = (low + high) // 2
            tried = self.solve(middle)
            if len(tried[1]) <= bands_max:
                high, solved = middle, tried
            else:
                low = middle
        return solved

    def bands(self, lows: Sequence[int]) -> tuple[Band, ...]:
        """The bands that start at the sizes number `lows`."""
        highs = [*(low - 1 for low in lows[1:]), len(self.sizes.sizes_bytes) - 1]
        return tuple(
            Band(int(self.blocks(high)[low]), int(self.peaks[low, high]))
            for low, high in zip(lows, highs, strict=True)
        )


def _step_of(keys: np.ndarray, level: int) -> np.ndarray:
    """The step of the table of sizes; see docs/spec/pools.md."""
    shift = np.maximum(np.frexp(keys.astype(float))[1] - 1 - level, 0)
    return (shift << level) + (keys >> shift)

"""Bands of sizes with limits, for the heap of core/pools.h: a small arena that cannot fail.

A band is a range of sizes; its limit is the most of its objects that were alive at once, in the
recording that needs most. Only borders at recorded sizes are tried. Bands do not depend on each
other, but for the table of sizes, whose steps must keep borders apart: dynamic programming finds
the borders, once for each fineness of that table. What the core's tables take is then asked of the
core itself. A second run without the table gives a bound that no choice of bands can go below.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tautochrone import native
from tautochrone.errors import TauError
from tautochrone.heap.limits import Matched
from tautochrone.heap.objects import objects_of
from tautochrone.machine import core_build
from tautochrone.plan.file import BANDS_ALIGNMENT_MAX, CLASSES_MAX
from tautochrone.trace.file import TraceReader

SIZES_MAX = 4096
LEVELS = range(9)  # of the table of sizes: up to POOLS_SIZE_LEVEL_MAX
SIZE_BYTES_MAX = 1 << 30  # BUDGET_SIZE_MAX_BYTES
UNITS_MAX = 0x1FFFFF << 6  # BUDGET_DEDICATED_UNITS_MAX: all pools together, in the granule
COUNT_MAX = (1 << 32) - 1
HEAP_STEP_BYTES = 8  # `tau replay` tries heaps in these steps
UNREACHED = 1 << 61  # twice this, and a table, is an int64
PEAKS_STEP = 16  # sizes in one call of the native code, during which no signal is handled
BAND_BYTES_MAX = 1 << 48  # more than any memory, and the sum of SIZES_MAX bands is not UNREACHED


class Sizes(NamedTuple):
    """Rises and falls of each size's live objects, in the form that tau_bands_peaks takes.

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
    """The build of the target's core, and the bytes of its tables: docs/spec/pools.md."""

    word_bytes: int = 4
    check_level: int = 1
    alignment_bytes: int | None = None  # TAU_ALIGNMENT, if it is not two words

    def arena_bytes(self, bands: Sequence[Band], alignment_bytes: int) -> int:
        """Bytes for tau_pools_init; 0 if no memory or no table of sizes holds these bands."""
        level = f"_check{self.check_level}" if self.check_level else ""
        aligned = f"_align{self.alignment_bytes}" if self.alignment_bytes else ""
        core = native.library(f"libtau_core{8 * self.word_bytes}{aligned}{level}.so")
        if any(band.count > COUNT_MAX or band.size_bytes > SIZE_BYTES_MAX for band in bands):
            return 0
        rows = np.array([tuple(band) for band in bands], [("size_bytes", "u4"), ("count", "u4")])
        needed = int(core.tau_pools_size(rows, len(rows), alignment_bytes, 0))
        return -(-needed // HEAP_STEP_BYTES) * HEAP_STEP_BYTES

    def least_bytes(self, bands_bytes: int, largest_bytes: int) -> int:
        """The least bytes of an arena if blocks, classes and bits take `bands_bytes`.

        To these it adds the shortest table of sizes up to `largest_bytes`, and fields, a counter
        and the shortest table of owners. It finds the latter from the arena of one block: it
        subtracts the known parts and the largest rounding of the end. An arena is a multiple of the
        granule.
        """
        granule = self.granule_bytes
        block = Band(2 * self.word_bytes, 1)
        known = block.size_bytes + self.band_bytes + int(self.bits_bytes(np.array([1]))[0])
        fixed = self.arena_bytes([block], 0) - (granule - 1) - known - 1
        return -(-(bands_bytes + fixed + self.table_bytes(largest_bytes)) // granule) * granule

    def table_bytes(self, largest_bytes: int) -> int:
        """The shortest table of sizes up to `largest_bytes`."""
        units = np.array([(largest_bytes - 1) // self.granule_bytes])
        return int(_step_of(units, 0)[0]) + 1

    @property
    def granule_bytes(self) -> int:
        """TAU_ALIGNMENT."""
        return self.alignment_bytes or 2 * self.word_bytes

    @property
    def band_bytes(self) -> int:
        """A class of eight words, a counter, and an entry of the plan's order."""
        return 9 * self.word_bytes + 1

    def bits_bytes(self, counts: np.ndarray) -> np.ndarray:
        """The in-use bits of so many blocks."""
        return -(-counts // 32) * 4 if self.check_level else np.zeros_like(counts)


def build_of(core: core_build.Build, layout: str) -> Build:
    """A build of the core in a layout."""
    return Build(4 if layout == "32" else 8, core.check_level, core.alignment_bytes)


class Best(NamedTuple):
    """The bands, in ascending order, and an arena that no choice of bands can go below."""

    bands: tuple[Band, ...]
    least_bytes: int


# ---- the recorded changes ----------------------------------------------------------------------


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

    Objects that `matched` limits are left out, but their sizes are there. Raises TauError for
    objects that no pool holds.
    """
    parts, instant = [], 0
    for reader in readers:
        parts.append(_changes_of(reader, granule_bytes, instant, matched))
        instant = int(parts[-1].instant.max(initial=instant)) + 1
    size, alignment, instants, delta = (np.concatenate(each) for each in zip(*parts, strict=True))
    limited = matched.alignments if matched is not None else {}
    all_sizes = np.concatenate([size, np.array(list(limited), np.int64)])
    all_alignments = np.concatenate([alignment, np.array(list(limited.values()), np.int64)])
    sizes_bytes = np.unique(all_sizes)
    if len(sizes_bytes) > SIZES_MAX:
        raise TauError(
            f"the recordings have {len(sizes_bytes):,} different sizes; bands are planned for up to"
            f" {SIZES_MAX:,}",
            "plan without --guarantee",
        )
    index = np.searchsorted(sizes_bytes, size)
    alignments = np.full(len(sizes_bytes), granule_bytes, np.int64)
    np.maximum.at(alignments, np.searchsorted(sizes_bytes, all_sizes), all_alignments)
    order = np.lexsort((instants, index))
    changes = np.zeros(len(order), native.struct("tau_bands_change"))
    changes["instant"], changes["delta"] = instants[order], delta[order]
    first = np.searchsorted(index[order], np.arange(len(sizes_bytes) + 1)).astype(np.uint64)
    return Sizes(sizes_bytes, alignments, changes, first, instant)


def _changes_of(
    reader: TraceReader, granule_bytes: int, instant: int, matched: Matched | None
) -> _Recorded:
    """The changes of a recording whose first instant is `instant`.

    All rises up to the next fall are one instant: only before a fall can more be alive than ever.
    Objects alive at the end fall in an instant of their own.
    """
    objects = objects_of(reader, granule_bytes)
    _refuse_oversized(objects.asked_bytes, objects.alignment_bytes)
    at = instant + np.cumsum(objects.ends)
    stays = objects.makes.copy()
    ended = objects.before[objects.ends]
    stays[ended] = False
    made, left = np.flatnonzero(objects.makes), np.flatnonzero(stays)
    end = int(at[-1]) + 1 if len(at) else instant
    which = np.concatenate([ended, made, left])
    instants = np.concatenate([at[objects.ends], at[made], np.full(len(left), end)])
    delta = np.repeat([-1, 1, -1], [len(ended), len(made), len(left)])
    if matched is not None:
        counts = ~matched.excluded(reader, objects)[which]
        which, instants, delta = which[counts], instants[counts], delta[counts]
    return _Recorded(objects.size_bytes[which], objects.alignment_bytes[which], instants, delta)


def _refuse_oversized(asked_bytes: np.ndarray, alignment_bytes: np.ndarray) -> None:
    """Raise TauError for an object that no pool holds."""
    for word, most, found in (
        ("a size", SIZE_BYTES_MAX, int(asked_bytes.max(initial=0))),
        ("an alignment", BANDS_ALIGNMENT_MAX, int(alignment_bytes.max(initial=0))),
    ):
        if found > most:
            raise TauError(
                f"the recordings have an object with {word} of {found:,} bytes; pools have at most"
                f" {most:,}",
                "plan without --guarantee",
            )


def peaks_of(sizes: Sizes) -> np.ndarray:
    """[low, high]: the most objects of the sizes number `low` … `high` that were alive at once."""
    count = len(sizes.sizes_bytes)
    peaks = np.zeros((count, count), np.uint32)
    find, instants = native.library().tau_bands_peaks, sizes.instants_count
    for low in range(0, count, PEAKS_STEP):
        end = min(low + PEAKS_STEP, count)
        if not find(sizes.changes, sizes.first, count, instants, low, end, peaks):
            raise TauError("not enough memory to plan bands", "plan fewer recordings at once")
    return peaks


# ---- the best borders --------------------------------------------------------------------------


def best_bands(sizes: Sizes, peaks: np.ndarray, build: Build) -> Best:
    """Bands with a small arena, and a bound of how small any bands can make it.

    `peaks` are the peaks of `sizes`, with the objects of limits. The bound is what `_Search` finds
    without a table of sizes and with any number of bands. It holds for borders between recorded
    sizes, too: such a band holds the same objects as one that ends at its largest recorded size,
    and its block is not smaller. Time: O(sizes²) for each level of the table of sizes.
    """
    alignment, largest = int(sizes.alignments.max()), int(sizes.sizes_bytes[-1])
    free = _Search(sizes, peaks, build, None).solve(0)
    found: list[tuple[int, tuple[Band, ...]]] = []
    for level in LEVELS:
        search = _Search(sizes, peaks, build, level)
        solved = search.solve(0)
        table_bytes = build.table_bytes(largest)
        if found and build.least_bytes(solved[0] - table_bytes, largest) > min(found)[0]:
            continue  # not even with more bands than there may be
        solved = search.within(CLASSES_MAX, solved)
        if solved is not None:
            bands = search.bands(solved[1])
            # An arena of 0 is none: gaps for alignments can make the core refuse bands.
            found.append((build.arena_bytes(bands, alignment) or UNREACHED, bands))
    assert found, "one band for all sizes is always possible"
    return Best(min(found)[1], build.least_bytes(free[0], largest))


class _Search:
    """The search with a table of sizes whose steps are 2^-level of a size, or without one.

    A band's block is its largest size, rounded up to the largest alignment of its sizes. Arrays
    have a row for each alignment and a column for each size.
    """

    def __init__(self, sizes: Sizes, peaks: np.ndarray, build: Build, level: int | None) -> None:
        self.sizes, self.peaks, self.build, self.level = sizes, peaks, build, level
        alignments, self.row = np.unique(sizes.alignments, return_inverse=True)
        self.block = -(-sizes.sizes_bytes // alignments[:, None]) * alignments[:, None]
        units = (self.block - 1) // build.granule_bytes
        self.step = _step_of(units, level or 0)
        self.is_inside = self.step == _step_of(units + 1, level or 0)
        self.next_bytes = np.append(sizes.sizes_bytes[1:], UNREACHED)

    def rows(self, high: int) -> np.ndarray:
        """The row of the band low … high for each low."""
        return np.maximum.accumulate(self.row[high::-1])[::-1]

    def costs(self, high: int, rows: np.ndarray) -> np.ndarray:
        """The bytes of the band low … high for each low."""
        counts = self.peaks[: high + 1, high].astype(np.int64)
        blocks = self.block[rows, high]
        cost = np.minimum(blocks * np.minimum(counts, COUNT_MAX), BAND_BYTES_MAX)
        cost += self.build.bits_bytes(counts) + self.build.band_bytes
        cost[blocks >= self.next_bytes[high]] = UNREACHED  # it would hold the next size too
        return cost

    def solve(self, penalty_bytes: int) -> tuple[int, list[int]]:
        """The least bytes, without the penalty for each band, and the first size of each band."""
        count = len(self.sizes.sizes_bytes)
        least = np.full(count + 1, UNREACHED)
        least[0] = 0
        start = np.zeros(count + 1, np.int64)
        border = np.full(count + 1, -1)  # the step that the border in front of a size lies inside
        for high in range(count):
            rows = self.rows(high)
            cost = least[: high + 1] + self.costs(high, rows)
            step, is_inside = self.step[rows, high], self.is_inside[rows, high]
            if self.level is not None and high == count - 1:
                cost += step + 1  # the table's length; sizes above the last band have no step
            elif self.level is not None:
                cost[is_inside & (border[: high + 1] == step)] = UNREACHED  # two borders in a step
            start[high + 1] = low = int(np.argmin(cost))
            least[high + 1] = min(cost[low] + penalty_bytes, UNREACHED)
            border[high + 1] = step[low] if is_inside[low] else -1
        lows, at = [], count
        while at > 0:
            at = int(start[at])
            lows.append(at)
        return int(least[count]) - penalty_bytes * len(lows), lows[::-1]

    def within(
        self, bands_max: int, solved: tuple[int, list[int]]
    ) -> tuple[int, list[int]] | None:
        """The best of the solutions that penalties give with at most so many bands.

        `solved` is the solution without a penalty. With exactly so many bands a solution is the
        best of all with so many; else the bound of `best_bands` says how far it is.
        """
        low, high = 0, 1
        while len(solved[1]) > bands_max and high < BAND_BYTES_MAX:
            low, high = high, high * 4
            solved = self.solve(high)
        if solved[0] >= UNREACHED // 2 or len(solved[1]) > bands_max:
            return None
        while high - low > 1 and low > 0 and len(solved[1]) < bands_max:
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
            Band(int(self.block[self.rows(high)[low], high]), int(self.peaks[low, high]))
            for low, high in zip(lows, highs, strict=True)
        )


def _step_of(keys: np.ndarray, level: int) -> np.ndarray:
    """The step of the table of sizes; see docs/spec/pools.md."""
    shift = np.maximum(np.frexp(keys.astype(float))[1] - 1 - level, 0)
    return (shift << level) + (keys >> shift)

"""Limits for bands of sizes that any order of calls can rely on: the smallest arena of core/pools.h.

A band is a range of sizes; its limit is the most of its objects that were alive at once, in the
recording that needs most. Bands are independent of each other, so that dynamic programming over the
recorded sizes finds the best borders, byte for byte: block times limit, the tables of each band, and
a table of sizes whose steps must keep the borders apart. Nothing here depends on the order of calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tautochrone import native
from tautochrone.errors import TauError
from tautochrone.facts import trace_format
from tautochrone.plan.file import ALIGNMENT_BYTES, CLASSES_MAX, PlanClass
from tautochrone.trace.file import TraceReader

SIZES_MAX = 4096
LEVEL_MAX = 8  # POOLS_SIZE_LEVEL_MAX
WORD_BYTES = {"32": 4, "host": 8}
CLASS_WORDS = 9  # a class and its counter
UNREACHED = np.iinfo(np.int64).max // 4
COLUMNS = ("op", "slot", "size_bytes", "align_log2", "flags")


class Sizes(NamedTuple):
    """What was recorded, by size, as the arguments of tau_bands_peaks.

    `sizes_bytes` ascend, rounded up to the granule, or to an object's alignment if that is larger.
    `alignments` has the largest alignment of each size's objects.
    """

    sizes_bytes: np.ndarray
    alignments: np.ndarray
    changes: np.ndarray
    first: np.ndarray
    instants_count: int


@dataclass(frozen=True)
class Bands:
    """The best bands: sizes ascend. `optimal_within` is the proved distance from the best choice,
    as a part of `arena_bytes`, which include all tables.
    """

    bands: tuple[PlanClass, ...]
    arena_bytes: int
    optimal_within: float


def sizes_of(readers: Sequence[TraceReader], granule_bytes: int) -> Sizes:
    """The changes of each size over all recordings, one behind the other, each starting empty."""
    parts, aligned, instants_count = [], [], 0
    for reader in readers:
        part, alignment, instants_count = _changes_of(reader, granule_bytes, instants_count)
        parts.append(part)
        aligned.append(alignment)
    changes = np.concatenate(parts)
    sizes, index = np.unique(changes["size"], return_inverse=True)
    alignments = np.full(len(sizes), granule_bytes, np.int64)
    np.maximum.at(alignments, index, np.concatenate(aligned))
    order = np.lexsort((changes["instant"], index))
    packed = np.zeros(len(changes), native.struct("tau_bands_change"))
    packed["instant"], packed["delta"] = changes["instant"][order], changes["delta"][order]
    first = np.searchsorted(index[order], np.arange(len(sizes) + 1)).astype(np.uint64)
    return Sizes(sizes.astype(np.int64), alignments, packed, first, instants_count)


CHANGE = np.dtype([("size", np.uint64), ("instant", np.uint32), ("delta", np.int32)])


def _changes_of(
    reader: TraceReader, granule_bytes: int, instant: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """The changes of a recording whose first instant is INSTANT, their alignments, and the next
    recording's first instant. An instant ends before a fall that follows a rise.
    """
    blocks = [np.rec.fromarrays([column.copy() for column in (
        block.op, block.slot, block.size_bytes, block.align_log2, block.flags
    )], names=COLUMNS) for block in reader.columns(COLUMNS)]
    events = np.concatenate(blocks) if blocks else np.rec.array(np.zeros(0, [(n, int) for n in COLUMNS]))
    events = events[(events["flags"] == 0) & (events["op"] != trace_format.TOUCH)]
    alignment = np.int64(1) << np.minimum(events["align_log2"], 40).astype(np.int64)
    alignment = np.maximum(alignment, granule_bytes)
    asked = np.maximum(events["size_bytes"].astype(np.int64), 1)
    size = -(-asked // alignment) * alignment
    # The object before an event is that of the event before it in the same slot.
    by_slot = np.argsort(events["slot"], kind="stable")
    is_first = np.r_[True, np.diff(events["slot"][by_slot].astype(np.int64)) != 0][: len(by_slot)]
    before = np.empty(len(events), np.int64)
    before[by_slot] = np.r_[-1, by_slot[:-1]][: len(by_slot)]
    falls = np.isin(events["op"], (trace_format.FREE, trace_format.REALLOC))
    rises = events["op"] != trace_format.FREE
    del is_first
    number = np.arange(len(events))
    is_live = np.zeros(len(events), bool)
    is_live[rises] = True
    is_live[before[falls]] = False  # what no event ends stays alive until the recording ends
    # Falls come first within an event. A fall that follows a rise begins an instant.
    begins = falls & np.r_[False, rises[:-1]]
    at = instant + np.cumsum(begins)
    end = int(at[-1]) + 1 if len(at) else instant
    pairs = [(before[falls], at[falls], -1), (number[rises], at[rises], 1)]
    pairs += [(number[is_live], np.full(is_live.sum(), end), -1)]
    made = np.zeros(sum(len(each[0]) for each in pairs), CHANGE)
    made["size"] = np.concatenate([size[each[0]] for each in pairs])
    made["instant"] = np.concatenate([each[1] for each in pairs])
    made["delta"] = np.concatenate([np.full(len(each[0]), each[2]) for each in pairs])
    alignments = np.concatenate([alignment[each[0]] for each in pairs])
    return made, alignments, end + 1


def peaks_of(sizes: Sizes) -> np.ndarray:
    """[low, high]: the most objects of the sizes `low` … `high` that were alive at once."""
    count = len(sizes.sizes_bytes)
    peaks = np.zeros((count, count), np.uint32)
    if not native.library().tau_bands_peaks(
        sizes.changes, sizes.first, count, sizes.instants_count + 1, peaks
    ):
        raise TauError("not enough memory to plan bands", "plan fewer recordings at once")
    return peaks

"""The objects of a recording as bands count them: made and ended by which event, and how large."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tautochrone.facts import trace_format
from tautochrone.machine.core_build import BUCKET_MIN_BYTES
from tautochrone.trace.file import TraceReader

COLUMNS = ("op", "slot", "size_bytes", "align_log2", "flags", "site")
EVENT = np.dtype([(name, np.uint64) for name in COLUMNS])
# Larger than any pool; behind them, sums would not be exact.
ASKED_BYTES_MAX = 1 << 52
ALIGNMENT_LOG2_MAX = 40


class Objects(NamedTuple):
    """An entry for each event that makes, resizes or ends an object; misuse is left out.

    `number` is the event's in the recording. An event with `makes` makes an object for which the
    program asked `asked_bytes`. `size_bytes` is its size as a band counts it: at least 8, rounded
    up to the granule, or to `alignment_bytes` if that is larger. An event with `ends` ends the
    object that entry `before` made. A resize does both.
    """

    number: np.ndarray
    makes: np.ndarray
    ends: np.ndarray
    before: np.ndarray
    asked_bytes: np.ndarray
    alignment_bytes: np.ndarray
    size_bytes: np.ndarray
    site: np.ndarray


def objects_of(reader: TraceReader, granule_bytes: int) -> Objects:
    """The objects of a recording, in the order of its events."""
    number, event = _events_of(reader)
    ends = (event["op"] == trace_format.OP_FREE) | (event["op"] == trace_format.OP_REALLOC)
    alignment_log2 = np.minimum(event["align_log2"], ALIGNMENT_LOG2_MAX).astype(np.int64)
    alignment = np.maximum(1 << alignment_log2, granule_bytes)
    asked = np.clip(event["size_bytes"], 1, ASKED_BYTES_MAX).astype(np.int64)
    # The object that an event ends is the one that the event before it in the same slot made.
    by_slot = np.argsort(event["slot"], kind="stable")
    before = np.zeros(len(event), np.int64)
    before[by_slot[1:]] = by_slot[:-1]
    return Objects(
        number=number,
        makes=event["op"] != trace_format.OP_FREE,
        ends=ends,
        before=before,
        asked_bytes=event["size_bytes"],
        alignment_bytes=alignment,
        size_bytes=np.maximum(-(-asked // alignment) * alignment, BUCKET_MIN_BYTES),
        site=event["site"],
    )


def _events_of(reader: TraceReader) -> tuple[np.ndarray, np.ndarray]:
    """The events that make, resize or free an object, and their numbers in the recording."""
    numbers, events, count = [np.empty(0, np.int64)], [np.empty(0, EVENT)], 0
    for columns in reader.columns(COLUMNS):
        block = np.empty(len(columns.op), EVENT)
        for name in COLUMNS:
            block[name] = getattr(columns, name)
        used = (block["flags"] == 0) & (block["op"] != trace_format.OP_TOUCH)
        numbers.append(np.flatnonzero(used) + count)
        events.append(block[used])
        count += len(block)
    return np.concatenate(numbers), np.concatenate(events)

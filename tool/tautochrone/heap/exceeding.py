"""Where a recording exceeds the limits of a plan of bands: which band, by how much, first when."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tautochrone.facts import trace_format
from tautochrone.heap.limits import site_names
from tautochrone.plan.file import Plan, bucket_bytes
from tautochrone.trace.file import TraceReader

COLUMNS = ("op", "slot", "size_bytes", "align_log2", "flags", "site")


class Exceeded(NamedTuple):
    """A band whose limit a recording exceeds.

    Of objects of up to `size_bytes`, `limit_count` may be alive; the recording has up to
    `peak_count`, and more than the limit first after event `first_event`, which `site` asked for
    ("" if the recording does not say). `limit_count` 0 stands for objects above all bands, whose
    largest has `size_bytes`.
    """

    size_bytes: int
    limit_count: int
    peak_count: int
    first_event: int
    site: str


def exceeded(reader: TraceReader, plan: Plan) -> list[Exceeded]:
    """Every band that the recording exceeds, by size; objects above all bands last."""
    number, event = _events_of(reader)
    blocks = np.array([bucket_bytes(size, plan.layout) for size, _ in plan.classes])
    limits = np.array([*(count for _, count in plan.classes), 0])
    unit = plan.alignment_unit
    alignment = np.maximum(1 << np.minimum(event["align_log2"], 40).astype(np.int64), unit)
    key = -(-np.maximum(event["size_bytes"].astype(np.int64), 1) // alignment) * alignment
    band = np.searchsorted(blocks, key)
    is_aligned = np.append(blocks, 0)[band] % alignment == 0
    band[~is_aligned] = len(blocks)
    makes = event["op"] != trace_format.OP_FREE
    ends = (event["op"] == trace_format.OP_FREE) | (event["op"] == trace_format.OP_REALLOC)
    by_slot = np.argsort(event["slot"], kind="stable")
    before = np.zeros(len(event), np.int64)
    before[by_slot[1:]] = by_slot[:-1]
    at = np.concatenate([np.flatnonzero(ends), np.flatnonzero(makes)])
    whose = np.concatenate([band[before[ends]], band[makes]])
    delta = np.repeat([-1, 1], [ends.sum(), makes.sum()])
    names = site_names(reader)
    found = []
    for index, limit in enumerate(limits):
        mine = np.flatnonzero(whose == index)
        # Within an event the object that it ends goes first.
        mine = mine[np.lexsort((delta[mine], at[mine]))]
        live = np.cumsum(delta[mine])
        over = np.flatnonzero(live > limit)
        if len(over):
            first = at[mine[over[0]]]
            site = int(event["site"][first])
            above = index == len(blocks)
            found.append(
                Exceeded(
                    size_bytes=int(key[makes & (band == index)].max() if above else blocks[index]),
                    limit_count=int(limit),
                    peak_count=int(live.max()),
                    first_event=int(number[first]),
                    site=names[site - 1] if site else "",
                )
            )
    return found


def _events_of(reader: TraceReader) -> tuple[np.ndarray, np.ndarray]:
    """The events that make, resize or free an object, and their numbers in the recording."""
    numbers, events, count = [], [], 0
    dtype = np.dtype([(name, np.uint64) for name in COLUMNS])
    for columns in reader.columns(COLUMNS):
        block = np.empty(len(columns.op), dtype)
        for name in COLUMNS:
            block[name] = getattr(columns, name)
        used = (block["flags"] == 0) & (block["op"] != trace_format.OP_TOUCH)
        numbers.append(np.flatnonzero(used) + count)
        events.append(block[used])
        count += len(block)
    if not events:
        return np.empty(0, np.int64), np.empty(0, dtype)
    return np.concatenate(numbers), np.concatenate(events)

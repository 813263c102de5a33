"""Where a recording exceeds the limits of a plan of bands: which band, by how much, first when."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tautochrone.heap.limits import site_names
from tautochrone.heap.objects import objects_of
from tautochrone.plan.file import Plan, bucket_bytes
from tautochrone.trace.file import TraceReader


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
    objects = objects_of(reader, plan.alignment_unit)
    unit = plan.alignment_unit
    blocks = np.array([bucket_bytes(size, unit) for size, _ in plan.classes], np.int64)
    limits = np.array([*(count for _, count in plan.classes), 0])
    band = np.searchsorted(blocks, objects.size_bytes)
    # A pool starts at a multiple of the plan's alignment, as far as its blocks are such multiples.
    aligned = np.minimum(blocks & -blocks, plan.alignment_bytes)
    band[np.append(aligned, 0)[band] < objects.alignment_bytes] = len(blocks)
    at = np.concatenate([np.flatnonzero(objects.ends), np.flatnonzero(objects.makes)])
    whose = np.concatenate([band[objects.before[objects.ends]], band[objects.makes]])
    delta = np.repeat([-1, 1], [objects.ends.sum(), objects.makes.sum()])
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
            site = int(objects.site[first])
            above = index == len(blocks)
            found.append(
                Exceeded(
                    size_bytes=int(
                        objects.asked_bytes[objects.makes & (band == index)].max()
                        if above
                        else blocks[index]
                    ),
                    limit_count=int(limit),
                    peak_count=int(live.max()),
                    first_event=int(objects.number[first]),
                    site=names[site - 1] if site else "",
                )
            )
    return found


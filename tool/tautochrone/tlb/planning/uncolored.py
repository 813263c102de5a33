"""Places the pages of a principal that owns no sets: the lowest of an aligned window.

Allocators place arenas so. It is what owned sets are compared with.
"""

from __future__ import annotations

import numpy as np

from tautochrone.tlb.partition import HEAP, UNCOLORED, Principal, Run
from tautochrone.tlb.planning.placement import Refusal, Search
from tautochrone.tlb.planning.run_heap import RunHeap

GROWTH = 16  # a heap that is too small for its recordings grows by this part of itself


def place_uncolored(search: Search) -> Principal | Refusal:
    """The lowest free window, heap first; one unmapped page is between two parts."""
    demand, page_bytes = search.demand, search.pages.geometry.page_bytes
    heap_pages, largest = _heap(search)
    half = 1 << heap_pages.bit_length() if heap_pages else 0
    needed = half + sum(part.pages + 1 for part in demand.parts)
    size = max(1 << (needed - 1).bit_length(), 2)
    if demand.object_bytes > largest:
        return Refusal(f"an object of {demand.object_bytes:,} bytes does not fit its heap")
    free = (
        np.flatnonzero(~search.used.reshape(-1, size).any(axis=1)).tolist()
        if size <= search.pages_max
        else []
    )
    if not free:
        return Refusal("no window of the size that it needs is free")
    at = start = free[0] * size
    runs = []
    if heap_pages:
        runs.append(Run(HEAP, search.pages.address(at), heap_pages * page_bytes))
        at += half
    for part in demand.parts:
        runs.append(Run(part.name, search.pages.address(at), part.pages * page_bytes))
        at += part.pages + 1
    arrays = search.pages.geometry.arrays
    return Principal(
        name=demand.name,
        mode=UNCOLORED,
        sets=((),) * len(arrays),
        taken=(0,) * len(arrays),
        window_start=search.pages.address(start),
        window_bytes=size * page_bytes,
        heap_window_bytes=half * page_bytes,
        runs=tuple(runs),
        largest_object_bytes=largest,
    )


def _heap(search: Search) -> tuple[int, int]:
    """The pages of the heap, which are adjacent, and its largest object."""
    demand, pages = search.demand, search.demand.heap_pages
    while pages:
        runs = [(0, pages * search.pages.geometry.page_bytes)]
        heap = RunHeap(runs, search.word_bytes)
        if not demand.calls or all(
            RunHeap(runs, search.word_bytes).completes(calls) for calls in demand.calls
        ):
            return pages, heap.largest_object_bytes()
        pages += max(1, pages // GROWTH)
    return 0, 0

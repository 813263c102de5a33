"""Where a partition is not what tasks ask for: it was planned for others, or they have changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from tautochrone.tlb.partition import HEAP, PARTS, UNCOLORED, Partition, Principal
from tautochrone.tlb.planning.demand import Demand
from tautochrone.tlb.planning.run_heap import RunHeap


def unfulfilled(partition: Partition, demands: Sequence[Demand]) -> str:
    """The first demand that the partition does not meet, in words; empty if it meets all."""
    return next(_unfulfilled(partition, demands), "")


def _unfulfilled(partition: Partition, demands: Sequence[Demand]) -> Iterator[str]:
    planned = {each.name: each for each in partition.principals}
    asked = {each.name: each for each in demands}
    yield from (f"it has no {name}" for name in asked if name not in planned)
    yield from (f"it also has {name}" for name in planned if name not in asked)
    is_uncolored = all(each.mode == UNCOLORED for each in partition.principals)
    for name in asked:
        found = _wrong_pages(partition, planned[name], asked[name])
        if not is_uncolored:
            found = chain(_wrong_sets(partition, planned[name], asked[name]), found)
        yield from (f"{name} {each}" for each in found)


def _wrong_sets(partition: Partition, found: Principal, asked: Demand) -> Iterator[str]:
    if found.mode != asked.mode:
        yield f"is {found.mode}, not {asked.mode}"
    arrays = [array.name for array in partition.geometry.arrays]
    for each in asked.fixed_sets:
        owned = found.sets[arrays.index(each.array)] if each.array in arrays else ()
        first = owned[0] if each.first is None and owned else each.first
        if len(owned) != each.count or owned[0] != first:
            yield f"does not have its sets of {each.array}"


def _wrong_pages(partition: Partition, found: Principal, asked: Demand) -> Iterator[str]:
    page_bytes = partition.geometry.page_bytes
    wanted = {part.name: part.pages * page_bytes for part in asked.parts}
    wanted[HEAP] = asked.heap_pages * page_bytes
    for part in PARTS:
        size, least = found.bytes_of(part), wanted.get(part, 0)
        # A heap from recordings may need more than their peak.
        if size < least or (size > least and not (part == HEAP and asked.calls)):
            yield f"has {size:,} bytes of {part}, not {least:,}"
    if asked.object_bytes > found.largest_object_bytes:
        largest = found.largest_object_bytes
        yield f"has objects up to {largest:,} bytes, not {asked.object_bytes:,}"
    runs = [(run.start, run.size_bytes) for run in found.runs_of(HEAP)]
    for calls in asked.calls:
        if not RunHeap(runs, partition.word_bytes).completes(calls):
            yield "has a heap in which its recordings do not complete"

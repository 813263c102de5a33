"""Checks a partition by looking at every set and every page: what docs/spec/tlb_color.md demands.

The planner searches; this only looks. So it finds what a wrong planner or an edited plan has.
"""

from collections import Counter
from collections.abc import Iterator

from tautochrone.console.output import count
from tautochrone.tlb import geometry as geometries
from tautochrone.tlb.partition import HEAP, NO_MISS, STACK, UNCOLORED, Partition, Principal, Run


def broken_rule(partition: Partition) -> str:
    """The first rule that is broken, in words; empty if there is none."""
    return next(_broken_rules(partition), "")


def _broken_rules(partition: Partition) -> Iterator[str]:
    names = Counter(each.name for each in partition.principals)
    yield from (f"two principals are called {name}" for name in names if names[name] > 1)
    for each in partition.principals:
        yield from _broken_sets(partition, each)
        yield from _broken_window(partition, each)
    yield from _owned_twice(partition)
    yield from _overlapping(partition)
    for each in partition.principals:
        yield from _broken_runs(partition, each)
        if each.mode != UNCOLORED:
            yield from _outside_sets(partition, each)
            yield from _wrong_heap(partition, each)
        yield from _wrong_counts(partition, each)


def _broken_sets(partition: Partition, principal: Principal) -> Iterator[str]:
    for array, sets in zip(partition.geometry.arrays, principal.sets, strict=True):
        if sets and (principal.mode == UNCOLORED or not array.is_colorable):
            yield f"{principal.name} owns sets of {array.name}, but can own none"
        if sets and max(sets) >= array.sets:
            yield f"{principal.name} owns set {max(sets)} of {array.name}, which has {array.sets}"


def _broken_window(partition: Partition, principal: Principal) -> Iterator[str]:
    page_bytes = partition.geometry.page_bytes
    start, size, heap = (
        *(principal.window_start, principal.window_bytes, principal.heap_window_bytes),
    )
    if size.bit_count() != 1 or start % size or size < 2 * page_bytes:
        yield f"{principal.name}'s window is not an aligned power of two of two pages or more"
    if heap and (heap.bit_count() != 1 or not 2 * page_bytes <= heap <= size):
        yield f"the window of {principal.name}'s heap is not a power of two of two pages or more"
    if start == 0:
        yield f"{principal.name}'s window has address 0, where no object can be"
    if bool(heap) != bool(principal.runs_of(HEAP)):
        yield f"{principal.name} has a heap without a window, or a window without a heap"


def _owned_twice(partition: Partition) -> Iterator[str]:
    owners: dict[tuple[int, int], Principal] = {}
    own = {each.name for each in partition.principals if each.shares_sets_with is None}
    for each in partition.principals:
        if strangers := {*each.used_by} - {other.name for other in partition.principals}:
            yield f"{each.name} is used by {min(strangers)}, which is not there"
        if each.leader not in own:
            yield f"{each.name} has the sets of {each.leader}, which has none of its own"
        for number, sets in enumerate(each.sets):
            for index in sets:
                other = owners.setdefault((number, index), each)
                if other.leader != each.leader:
                    array = partition.geometry.arrays[number].name
                    yield f"set {index} of {array} belongs to {other.name} and to {each.name}"


def _overlapping(partition: Partition) -> Iterator[str]:
    ordered = sorted(partition.principals, key=lambda each: each.window_start)
    for one, other in zip(ordered, ordered[1:], strict=False):
        if one.window_start + one.window_bytes > other.window_start:
            yield f"the windows of {one.name} and {other.name} overlap"


def _broken_runs(partition: Partition, principal: Principal) -> Iterator[str]:
    page_bytes, name = partition.geometry.page_bytes, principal.name
    first = principal.window_start
    border, last = first + principal.heap_window_bytes, first + principal.window_bytes
    seen: set[int] = set()
    for run in principal.runs:
        if run.start % page_bytes or run.size_bytes % page_bytes or not run.size_bytes:
            yield f"a run of {name}'s {run.part} is not of whole pages"
        low, high = (first, border) if run.part == HEAP else (border, last)
        if not low <= run.start or run.start + run.size_bytes > high - page_bytes:
            yield f"a run of {name}'s {run.part} at {run.start:#x} is not inside its window"
        pages = set(partition.addresses(run))
        if pages & seen:
            yield f"two runs of {name} overlap at {min(pages & seen):#x}"
        seen |= pages
    ends = {run.start + run.size_bytes for run in principal.runs}
    if adjacent := [run for run in principal.runs if run.start in ends]:
        yield f"a run of {name}'s {adjacent[0].part} follows another one without a gap"
    if len(principal.runs_of(STACK)) > 1:
        yield f"{name}'s stack is in several runs"


def _outside_sets(partition: Partition, principal: Principal) -> Iterator[str]:
    for run in principal.runs:
        roles = [geometries.DATA] if run.part == HEAP else [geometries.DATA, geometries.CODE]
        for address in partition.addresses(run):
            for role in roles:
                if not _is_admissible(partition, principal, address, role):
                    yield (
                        f"the page at {address:#x} of {principal.name}'s {run.part} needs sets of"
                        " others"
                    )


def _is_admissible(partition: Partition, principal: Principal, address: int, role: str) -> bool:
    geometry = partition.geometry
    return all(
        structure.index(address // geometry.page_bytes) in principal.sets[structure.array]
        for structure in geometry.translating(geometry.page_bytes, role)
        if geometry.arrays[structure.array].is_colorable
    )


def _wrong_heap(partition: Partition, principal: Principal) -> Iterator[str]:
    """The heap has the lowest admissible pages of its window [CLR-9]."""
    heap = {page for run in principal.runs_of(HEAP) for page in partition.addresses(run)}
    if not heap:
        return
    until = Run(HEAP, principal.window_start, max(heap) - principal.window_start)
    for address in partition.addresses(until):
        if address not in heap and _is_admissible(partition, principal, address, geometries.DATA):
            yield f"{principal.name}'s heap leaves out the page at {address:#x}"


def _wrong_counts(partition: Partition, principal: Principal) -> Iterator[str]:
    """What other pages take, and in mode no-miss the safe ways [CLR-10]."""
    others = partition.entries(run for run in principal.runs if run.part != HEAP)
    heap = partition.entries(principal.runs_of(HEAP))
    for number, array in enumerate(partition.geometry.arrays):
        taken = max((others[number, index] for index in principal.sets[number]), default=0)
        if taken != principal.taken[number]:
            yield (
                f"{principal.name}'s pages outside the heap take {taken} entries of a set of"
                f" {array.name}, not {principal.taken[number]}"
            )
        most = max((heap[number, index] for index in principal.sets[number]), default=0)
        if principal.mode == NO_MISS and taken + most > array.safe_ways:
            yield (
                f"{principal.name} has up to {taken + most} live entries in a set of {array.name},"
                f" more than its {count(array.safe_ways, 'safe way')}"
            )

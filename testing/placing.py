"""Places tasks in the window of the tile without a plan: an aligned window each, owned sets."""

from collections.abc import Sequence
from dataclasses import replace

from tautochrone.errors import TauError
from tautochrone.facts import tile_format as tile
from tautochrone.tlb.geometry import Geometry
from tautochrone.tlb.partition import (
    CODE,
    GLOBALS,
    HEAP,
    ISOLATED,
    STACK,
    Partition,
    Principal,
    Run,
    roles_of,
)
from tautochrone.tlb.tile.system import PAGE_BYTES

WINDOW_PAGES = 256  # per task: the lower half for itself, the upper half for its heap
HALF_BYTES = WINDOW_PAGES // 2 * PAGE_BYTES
Sets = tuple[tuple[int, ...], ...]  # one per array


def window_of(number: int) -> int:
    """The address of a principal's window; 0 is the kernel's."""
    return tile.ADDRESS_WINDOW + number * WINDOW_PAGES * PAGE_BYTES


def all_sets(geometry: Geometry) -> Sets:
    """The sets of one who may use every set."""
    return tuple(tuple(range(array.sets)) for array in geometry.arrays)


def sets_of(geometry: Geometry, first_level: Sequence[int]) -> Sets:
    """The sets of one who owns these sets of the first level, where all indices are linear."""
    count = geometry.arrays[0].sets
    return tuple(
        tuple(index for index in range(array.sets) if index % count in first_level)
        for array in geometry.arrays
    )


def is_admissible(geometry: Geometry, owned: Sets, address: int, role: str) -> bool:
    """Whether the page's entries all lie in owned sets."""
    return all(
        each.index(address // PAGE_BYTES) in owned[each.array]
        for each in geometry.structures
        if each.role == role
    )


def runs_of(
    geometry: Geometry, owned: Sets, number: int, parts: Sequence[tuple[str, int]]
) -> list[Run]:
    """For each part, with its pages, the lowest free run in the window.

    Raises TauError if the window has none.
    """
    start = window_of(number)
    free = set(range(start + PAGE_BYTES, start + HALF_BYTES - PAGE_BYTES, PAGE_BYTES))
    found = []
    for part, count in parts:
        size_bytes = count * PAGE_BYTES
        (role,) = roles_of(part)
        usable = {page for page in free if is_admissible(geometry, owned, page, role)}
        starts = (
            page
            for page in sorted(usable)
            if usable.issuperset(range(page, page + size_bytes, PAGE_BYTES))
        )
        first = next(starts, None)
        if first is None:
            raise TauError(f"the window of principal {number} has no {count} adjacent pages")
        free.difference_update(range(first, first + size_bytes, PAGE_BYTES))
        found.append(Run(part, first, size_bytes))
    return found


def kernel_pages(geometry: Geometry, owned: Sets) -> tuple[int, int]:
    """The kernel's page of state and of stack, in these sets."""
    state, stack = runs_of(geometry, owned, 0, ((GLOBALS, 1), (STACK, 1)))
    return state.start, stack.start


def place(
    geometry: Geometry,
    number: int,
    own: Sets,
    heap: Sets | None = None,
    heap_pages: int = 2,
    mode: str = ISOLATED,
    code_pages: int = 1,
) -> Principal:
    """A task's pages in the sets OWN, and its heap's in the sets HEAP (default: the same).

    The heap's runs say how many pages it has; the core finds them.
    """
    parts = ((CODE, code_pages), (GLOBALS, 1), (STACK, 1))
    runs = runs_of(geometry, own, number, parts)
    window = window_of(number) + HALF_BYTES
    owned = heap or own
    entries = Partition(geometry, 4, ()).entries(runs)
    taken = tuple(
        max((entries[array, index] for index in sets), default=0)
        for array, sets in enumerate(owned)
    )
    heap_run = Run(HEAP, window, heap_pages * PAGE_BYTES)
    return Principal(
        name=f"task {number}",
        mode=mode,
        sets=owned,
        taken=taken,
        window_start=window,
        window_bytes=HALF_BYTES,
        heap_window_bytes=HALF_BYTES,
        runs=(*runs, heap_run),
        largest_object_bytes=0,
    )


def with_runs(place: Principal, runs: Sequence[Run]) -> Principal:
    """A task's pages, with other runs of the parts that these are of."""
    parts = {run.part for run in runs}
    kept = tuple(run for run in place.runs if run.part not in parts)
    return replace(place, runs=(*kept, *runs))


def without_heap(place: Principal) -> Principal:
    """A task's pages without its heap's."""
    runs = tuple(run for run in place.runs if run.part != HEAP)
    return replace(place, heap_window_bytes=0, runs=runs)

"""Places tasks in the window without a plan: an aligned window per task, pages in owned sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tautochrone.errors import TauError
from tautochrone.facts import tile_format as tile
from tautochrone.tlb.geometry import CODE, DATA, Geometry
from tautochrone.tlb.tile.system import PAGE_BYTES, Extent, Heap, Place

WINDOW_PAGES = 256  # of a task: the lower half for itself, the upper half for its heap
HALF_BYTES = WINDOW_PAGES // 2 * PAGE_BYTES
Masks = tuple[int, ...]


def window_of(principal: int) -> int:
    """The address of a principal's window; 0 is the kernel's."""
    return tile.ADDRESS_WINDOW + principal * WINDOW_PAGES * PAGE_BYTES


def all_sets(geometry: Geometry) -> Masks:
    """The masks of one who may use every set."""
    return tuple((1 << array.sets) - 1 for array in geometry.arrays)


def masks(geometry: Geometry, first_level: Sequence[int]) -> Masks:
    """The masks of one who owns these sets of the first level, where all indices are linear."""
    sets = geometry.arrays[0].sets
    owned = set(first_level)
    return tuple(
        sum(1 << index for index in range(array.sets) if index % sets in owned)
        for array in geometry.arrays
    )


def is_admissible(geometry: Geometry, owned: Masks, address: int, role: str) -> bool:
    """Whether the page's entries all lie in owned sets."""
    return all(
        owned[each.array] >> each.index(address // PAGE_BYTES) & 1
        for each in geometry.structures
        if each.role == role
    )


def extents(
    geometry: Geometry, owned: Masks, principal: int, kinds: Sequence[tuple[str, int]]
) -> list[Extent]:
    """For each of KINDS, a structure's role and pages, the lowest free extent of the window.

    Raises TauError if the window has none.
    """
    start = window_of(principal)
    free = set(range(start + PAGE_BYTES, start + HALF_BYTES - PAGE_BYTES, PAGE_BYTES))
    found = []
    for role, count in kinds:
        usable = {page for page in free if is_admissible(geometry, owned, page, role)}
        extent = next(
            (
                each
                for each in (Extent(page, count * PAGE_BYTES) for page in sorted(usable))
                if usable.issuperset(each.pages())
            ),
            None,
        )
        if extent is None:
            raise TauError(f"the window of principal {principal} has no {count} adjacent pages")
        free.difference_update(extent.pages())
        found.append(extent)
    return found


def taken(geometry: Geometry, owned: Masks, places: Sequence[tuple[int, str]]) -> Masks:
    """Per array, the most entries of pages, each with its role, in one owned set."""
    counts: Counter[tuple[int, int]] = Counter()
    for page, role in places:
        for each in geometry.structures:
            if each.role == role:
                counts[each.array, each.index(page // PAGE_BYTES)] += 1
    most = [0] * len(owned)
    for (array, index), count in counts.items():
        if owned[array] >> index & 1:
            most[array] = max(most[array], count)
    return tuple(most)


def place(
    geometry: Geometry,
    principal: int,
    own: Masks,
    heap: Masks | None = None,
    heap_pages: int = 2,
    mode: str = "isolated",
    code_pages: int = 1,
) -> Place:
    """A task's pages in the sets OWN, and its heap's in the sets HEAP."""
    code, data, stack = extents(
        geometry, own, principal, ((CODE, code_pages), (DATA, 1), (DATA, 1))
    )
    window = Extent(window_of(principal) + HALF_BYTES, HALF_BYTES)
    roles = {page: DATA for each in (data, stack) for page in each.pages()}
    roles |= {page: CODE for page in code.pages()}
    used = taken(geometry, heap or own, list(roles.items()))
    return Place(code, data, stack, Heap(window, heap_pages, heap or own, mode, used))

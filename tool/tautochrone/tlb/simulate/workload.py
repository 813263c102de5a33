"""Tasks for the simulator: their pages, in sets of their own or as allocators place them, and what
they access. docs/spec/tlb_color.md, [CLR-17] ... [CLR-19], defines all of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.tlb.geometry import DATA, Geometry
from tautochrone.tlb.planning.page_range import sets_of

HOSTILE = 0  # the task that walks through all its pages
TASK_PAGES = 24  # of any other task, if its window has as many
TURN_ACCESSES = 25
WINDOW_PAGES_LOG2, LARGE_PAGES_LOG2 = 18, 12  # a task's window, in base pages and in own ones
ADDRESS_BITS = 64
Addresses = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Accesses:
    """Accesses in order: by which task, and to which address."""

    owners: npt.NDArray[np.uint32]
    addresses: Addresses


def page_bytes_of(geometry: Geometry) -> int:
    """The smallest pages of data. Raises TauError if there are none."""
    sizes = [each.page_bytes for each in geometry.structures if each.role == DATA]
    if not sizes:
        raise TauError(
            f"{geometry.name} has no structure of role data, so nothing translates a task's pages",
            "add such a structure, or choose another geometry",
            EXIT_USAGE,
        )
    return min(sizes)


def pages_of_tasks(geometry: Geometry, tasks: int, is_colored: bool) -> list[Addresses]:
    """The addresses of each task's pages. Raises TauError if there are too many tasks."""
    page_bytes = page_bytes_of(geometry)
    window_bytes = max(geometry.page_bytes << WINDOW_PAGES_LOG2, page_bytes << LARGE_PAGES_LOG2)
    if (tasks + 1) * window_bytes >= 1 << ADDRESS_BITS:
        raise TauError(
            f"{tasks} tasks with pages of {page_bytes:,} bytes do not fit in {ADDRESS_BITS} bits",
            "give fewer tasks, or a structure for smaller pages",
            EXIT_USAGE,
        )
    own_sets = _equal_shares(geometry, tasks)
    found = []
    for task in range(tasks):
        start = (task + 1) * window_bytes
        searched = window_bytes if task == HOSTILE else min(window_bytes, _period_bytes(geometry))
        end = start + max(searched, page_bytes << LARGE_PAGES_LOG2)
        window = np.arange(start, end, page_bytes, dtype=np.uint64)
        owned = [shares == task for shares in own_sets]
        colored = _admissible(geometry, owned, window, page_bytes)
        if task != HOSTILE:
            colored = colored[:TASK_PAGES]
        if colored.size == 0:
            raise TauError(
                f"{geometry.name} has no page whose sets are all of one task if it is shared by"
                f" {tasks} tasks",
                "give fewer tasks, best a power of two",
                EXIT_USAGE,
            )
        found.append(colored if is_colored else window[: colored.size])
    return found


def accesses_of(pages: list[Addresses], accesses: int, seed: int) -> Accesses:
    """Turns of TURN_ACCESSES: the hostile task's and, of the others, one at random's."""
    dice = np.random.default_rng(seed)
    turns = -(-accesses // TURN_ACCESSES)
    runners = dice.integers(1, len(pages), turns, np.uint32)
    runners[1::2] = HOSTILE
    owners = np.repeat(runners, TURN_ACCESSES)[:accesses]
    addresses = np.empty(accesses, np.uint64)
    for task, own in enumerate(pages):
        mine = owners == task
        count = int(mine.sum())
        swept = np.arange(count) % own.size
        addresses[mine] = own[swept if task == HOSTILE else dice.integers(0, own.size, count)]
    return Accesses(owners, addresses)


def _period_bytes(geometry: Geometry) -> int:
    """After which all indices repeat."""
    bits = max(row.bit_length() for each in geometry.structures for row in (*each.rows, 0))
    return geometry.page_bytes << bits


def _equal_shares(geometry: Geometry, tasks: int) -> list[npt.NDArray[np.int64]]:
    """Per array the task that owns each set.

    Who has set s of the smallest array has all sets of the others that equal s modulo its sets.
    """
    colorable = [array.sets for array in geometry.arrays if array.is_colorable]
    if not colorable:
        raise TauError(
            f"{geometry.name} is fully associative: it has one set, of which nobody can own a part",
            "choose a geometry that has sets",
            EXIT_USAGE,
        )
    least = min(colorable)
    if tasks > least:
        raise TauError(
            f"{tasks} tasks are too many for the {least} sets of the smallest array of"
            f" {geometry.name}",
            f"give at most {least} tasks",
            EXIT_USAGE,
        )
    return [np.arange(array.sets) % least * tasks // least for array in geometry.arrays]


def _admissible(
    geometry: Geometry,
    owned: list[npt.NDArray[np.bool_]],
    pages: Addresses,
    page_bytes: int,
) -> Addresses:
    """The pages of a window whose entries all lie in owned sets; never the last page."""
    numbers = pages[:-1] // np.uint64(geometry.page_bytes)
    is_admissible = np.ones(numbers.size, np.bool_)
    for structure in geometry.translating(page_bytes):
        if geometry.arrays[structure.array].is_colorable:
            is_admissible &= owned[structure.array][sets_of(numbers, structure)]
    return pages[:-1][is_admissible]

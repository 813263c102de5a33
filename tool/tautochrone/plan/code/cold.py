"""What a planner of cold code is asked: which pieces to place on pages, and what is known of them.

A planner is a module with `place(cold) -> pages`: lists of piece numbers, each piece once, no page
larger than PAGE_BYTES. Equal input gives equal pages. plan/code/planners.py knows them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tautochrone.coldcode.fragment import PAGE_BYTES

Pages = list[list[int]]


class Edge(NamedTuple):
    """An instruction of a piece that jumps to or calls another one, and how often it was executed.
    """

    source: int
    target: int
    count: int


@dataclass(frozen=True)
class Cold:
    """Pieces are numbers by address. `is_cold` are to be placed; the others stay in RAM.

    `touches` are cold pieces in the order of execution, no two equal in a row. `edges` computes the
    direct control flow between all pieces.
    """

    addresses: Sequence[int]
    sizes_bytes: Sequence[int]
    is_cold: np.ndarray
    touches: np.ndarray
    frames: int
    edges: Callable[[], Sequence[Edge]] = field(default=lambda: ())

    @property
    def numbers(self) -> list[int]:
        """The pieces to place."""
        return [int(number) for number in np.flatnonzero(self.is_cold)]

    def bytes_of(self, page: Sequence[int]) -> int:
        """The bytes of pieces."""
        return sum(self.sizes_bytes[number] for number in page)


def without_repeats(touches: np.ndarray) -> np.ndarray:
    """Touches of which no two in a row are equal."""
    if not len(touches):
        return touches
    return touches[np.concatenate(([True], touches[1:] != touches[:-1]))]


def best_fit(groups: Sequence[list[int]], sizes: Sequence[int]) -> Pages:
    """Merge groups into pages: the largest first, each into the fullest page that has room.

    Ties: the group with the lowest piece first; the page that was begun first.
    """
    total = [sum(sizes[number] for number in group) for group in groups]
    order = sorted(range(len(groups)), key=lambda place: (-total[place], min(groups[place])))
    pages: Pages = []
    rooms: list[int] = []
    for place in order:
        need = total[place]
        fitting = [(room, page) for page, room in enumerate(rooms) if room >= need]
        if fitting:
            page = min(fitting)[1]
        else:
            page = len(pages)
            pages.append([])
            rooms.append(PAGE_BYTES)
        pages[page] += groups[place]
        rooms[page] -= need
    return pages

"""Pages in the order of the addresses that the linker gave: what needs no planner."""

from __future__ import annotations

from collections.abc import Iterable

from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.plan.code.cold import Cold, Pages


def place(cold: Cold) -> Pages:
    """Fill one page after the other."""
    return in_order(cold.numbers, cold)


def in_order(numbers: Iterable[int], cold: Cold) -> Pages:
    """Fill pages with these pieces in this order."""
    pages: Pages = []
    room = 0
    for number in numbers:
        need = cold.sizes_bytes[number]
        if need > room:
            pages.append([])
            room = PAGE_BYTES
        pages[-1].append(number)
        room -= need
    return pages

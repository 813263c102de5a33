"""Pages in link order, without a planner."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone.coldcode.fragment import PAGE_BYTES, Page, page_bytes_of
from tautochrone.coldcode.link_map import Piece, alignment_bytes


def in_link_order(pieces: Sequence[Piece]) -> tuple[Page, ...]:
    """Pages of whole pieces. A piece that is larger than a page stays out."""
    alignment = alignment_bytes(pieces)
    pages: list[list[Piece]] = []
    for piece in pieces:
        if page_bytes_of([piece], alignment) > PAGE_BYTES:
            continue
        if not pages or page_bytes_of([*pages[-1], piece], alignment) > PAGE_BYTES:
            pages.append([])
        pages[-1].append(piece)
    return tuple(map(tuple, pages))

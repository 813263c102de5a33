"""The best placement and the best policy, by trying all of them."""

from collections.abc import Iterator

from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.placement import ColdPieces, Pages


def placements(cold: ColdPieces) -> Iterator[Pages]:
    """Every way to put the touched pieces on pages."""
    pieces = sorted(set(cold.touches.tolist()))

    def with_piece(place: int, pages: Pages) -> Iterator[Pages]:
        if place == len(pieces):
            yield pages
            return
        piece = pieces[place]
        for number, page in enumerate(pages):
            if cold.bytes_of(page) + cold.sizes_bytes[piece] <= PAGE_BYTES:
                yield from with_piece(
                    place + 1, [*pages[:number], [*page, piece], *pages[number + 1 :]]
                )
        yield from with_piece(place + 1, [*pages, [piece]])

    yield from with_piece(0, [])


def round_robin_faults(cold: ColdPieces, pages: Pages) -> int:
    """Loads when the oldest load leaves."""
    page_of = {piece: number for number, page in enumerate(pages) for piece in page}
    held: list[int] = []
    loads = 0
    for piece in cold.touches.tolist():
        if page_of[piece] not in held:
            held = [*held, page_of[piece]][-cold.frames :]
            loads += 1
    return loads


def fewest_faults(cold: ColdPieces, pages: Pages) -> int:
    """Loads of the best policy: every choice of who leaves is tried."""
    page_of = {piece: number for number, page in enumerate(pages) for piece in page}
    states = {frozenset[int](): 0}
    for piece in cold.touches.tolist():
        page, after = page_of[piece], {}
        for held, loads in states.items():
            if page in held:
                choices = [(held, loads)]
            elif len(held) < cold.frames:
                choices = [(held | {page}, loads + 1)]
            else:
                choices = [(held - {out} | {page}, loads + 1) for out in held]
            for state, count in choices:
                after[state] = min(count, after.get(state, count))
        states = after
    return min(states.values())

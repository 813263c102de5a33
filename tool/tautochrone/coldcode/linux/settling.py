"""Links a kernel as planned, and plans again until every function is on its page as linked.

    planned = settled(plan, lambda planned: planned.page_pieces, link)

Calls over a mebibyte are longer, so that sizes depend on the placement. A page that grows over its
end takes a second one, which all pages behind it move by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from tautochrone.coldcode.fragment import PAGE_BYTES, fragment_text, misplaced, read_fragment
from tautochrone.coldcode.link_map import Piece, read_link_map
from tautochrone.coldcode.linux import flash
from tautochrone.coldcode.linux.build import Built
from tautochrone.console import output

# A link takes about eight CPU seconds.
LINKS_MAX = 6
Pages = Sequence[Sequence[Piece]]
Planned = TypeVar("Planned")


def settled(
    plan: Callable[[Sequence[Piece]], Planned],
    pages_of: Callable[[Planned], Pages],
    link: Callable[[str], Built],
) -> Planned:
    """What PLAN answers to the pieces of all links so far, of which the largest sizes count.

    LINK links a kernel with a fragment. It is called at most LINKS_MAX times. The last plan is
    returned in any case: a piece on another page costs loads, but is no error.
    """
    linked: list[Piece] = []
    planned = plan(linked)
    for _ in range(LINKS_MAX):
        built = link(fragment_text(pages_of(planned)))
        there = read_link_map(built.link_map)
        count = len(misplaced(pages_of(planned), there, _cold_of(built).start))
        if not count:
            break
        functions = output.count(count, "function")
        output.note(f"tau: as linked, {functions} not on the planned page: planning again")
        linked += there
        planned = plan(linked)
    return planned


def warn_of_misplaced(built: Built, placement: Path) -> None:
    """Say it if a kernel that was linked with a placement differs from it."""
    pages, cold = read_fragment(placement).pages, _cold_of(built)
    count = len(misplaced(pages, read_link_map(built.link_map), cold.start))
    if count:
        there = output.count(len(cold) // PAGE_BYTES, "page")
        cause = f"the kernel has {there} of cold code, the placement {len(pages):,}"
        functions = output.count(count, "function")
        step = f"plan again with --sizes {built.link_map}"
        output.warn(f"{cause}: {functions} not on the planned page", step)


def _cold_of(built: Built) -> range:
    """The addresses of cold code."""
    symbols = flash.symbols_of(built.vmlinux)
    return range(symbols[flash.START].address, symbols[flash.END].address)

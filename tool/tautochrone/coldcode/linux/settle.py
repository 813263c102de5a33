"""Links a kernel as planned, and plans again until every function is on its page as linked.

planned = settled(plan, link)

Calls over a mebibyte are longer, so that sizes depend on the placement. A page that grows over its
end takes a second one, which moves all pages after it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from tautochrone.coldcode.fragment import PAGE_BYTES, fragment_text, misplaced, read_fragment
from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.link_map import Piece, read_link_map
from tautochrone.coldcode.linux import flash
from tautochrone.coldcode.linux.build import Built
from tautochrone.coldcode.planning import Planned
from tautochrone.console import output

# A link takes about eight CPU seconds.
LINKS_MAX = 6


def settled(plan: Callable[[Sequence[Piece]], Planned], link: Callable[[str], Built]) -> Planned:
    """The last plan. PLAN gets the pieces of all links so far: the largest sizes count.

    LINK links a kernel with a fragment. It is called at most LINKS_MAX times. The last plan is
    returned in any case: a piece on another page costs loads, but is not an error.
    """
    linked: list[Piece] = []
    planned = plan(linked)
    for _ in range(LINKS_MAX):
        pages = planned.page_pieces
        built = link(fragment_text(pages))
        there = read_link_map(built.link_map)
        count = len(misplaced(pages, there, _cold_of(built).start))
        if not count:
            break
        functions = output.count(count, "function")
        output.note(f"tau: as linked, {functions} not on the planned page: planning again")
        linked += there
        planned = plan(linked)
    return planned


def warn_of_misplaced(built: Built, placement: Path) -> None:
    """Warn if a kernel that was linked with a placement differs from it."""
    pages, cold = read_fragment(placement).pages, _cold_of(built)
    count = len(misplaced(pages, read_link_map(built.link_map), cold.start))
    if count:
        there = output.count(len(cold) // PAGE_BYTES, "page")
        cause = f"the kernel has {there} of cold code, the placement {len(pages):,}"
        functions = output.count(count, "function")
        step = f"plan again with --sizes {built.link_map}"
        output.warn(f"{cause}: {functions} not on the planned page", step)


def _cold_of(built: Built) -> range:
    return flash.cold_range(read_kernel(built.vmlinux))

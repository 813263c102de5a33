"""Whether a principal has more pages than its sets hold without a miss, wherever the pages lie."""

from __future__ import annotations

from tautochrone.tlb.geometry import CODE, DATA
from tautochrone.tlb.partition import NO_MISS, role_of
from tautochrone.tlb.planning.demand import Demand
from tautochrone.tlb.planning.page_range import PageRange
from tautochrone.tlb.planning.placement import Refusal
from tautochrone.tlb.planning.shares import Shares


def over_capacity(
    pages: PageRange, shares: Shares, demand: Demand, shares_count: int
) -> Refusal | None:
    """Why the demand cannot be without a miss in `shares_count` shares, if it cannot."""
    if demand.mode != NO_MISS:
        return None
    needed = {DATA: demand.heap_pages, CODE: 0}
    for part in demand.parts:
        needed[role_of(part.name)] += part.pages
    for number, array in enumerate(pages.geometry.arrays):
        if shares.share_of[number] is None:
            continue
        roles = {
            role
            for role in (DATA, CODE)
            for each in pages.structures(role)
            if each.role == role and each.array == number
        }
        entries = sum(needed[role] for role in roles)
        sets = array.sets // shares.count * shares_count
        if entries > sets * array.safe_ways:
            which = "all" if shares_count == shares.count else "its"
            return Refusal(
                f"its pages take {entries:,} entries of {array.name}, but {which} {sets} sets with"
                f" {array.safe_ways} safe ways hold {sets * array.safe_ways:,}",
                'give it less memory, or mode = "isolated" if it may miss',
            )
    return None

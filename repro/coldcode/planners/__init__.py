"""Placements of cold code to compare: ours, the paper's two, and the linker's order."""

from collections.abc import Callable, Mapping

from repro.coldcode.planners import entry_points, profile_based
from repro.coldcode.planners.edges import LinkedPieces, linked_pieces
from tautochrone.coldcode import placement
from tautochrone.coldcode.pieces import Code, Split
from tautochrone.coldcode.placement import Pages
from tautochrone.coldcode.planning import Planned, with_pages
from tautochrone.coldcode.replay import Cache

REPLAYED = "replayed"
PLANNERS: Mapping[str, Callable[[LinkedPieces], Pages]] = {
    REPLAYED: placement.place,
    "profile-based": profile_based.place,
    "entry-points": entry_points.place,
    "link-order": placement.in_link_order,
}


def planned_by(planner: str, code: Code, split: Split, cache: Cache) -> Planned:
    """The plan with the pages of a planner."""
    pieces = linked_pieces(code, split.is_cold, cache.frames)
    return with_pages(code, split, cache, PLANNERS[planner](pieces))

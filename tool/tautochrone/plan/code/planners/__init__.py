"""The planners of cold code by name. A new one is a module beside this and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tautochrone.plan.code.cold import Cold, Pages
from tautochrone.plan.code.planners import (
    entry_points,
    link_order,
    profile_based,
    replayed,
)

REPLAYED = "replayed"
PLANNERS: Mapping[str, Callable[[Cold], Pages]] = {
    REPLAYED: replayed.place,
    "profile-based": profile_based.place,
    "entry-points": entry_points.place,
    "link-order": link_order.place,
}

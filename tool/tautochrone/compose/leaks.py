"""Leaks that are built in on purpose: which there are, and why a system may not show one.

A check that does not find its leak has failed. So a leak that cannot show is refused, with the
reason, before anything is run; and one that was not found has a reason too.
"""

from collections.abc import Collection

from tautochrone.compose.pages import UNIT, Page
from tautochrone.compose.system import (
    LOADER,
    System,
    channels_of,
    communication_frames,
    pages_of,
)
from tautochrone.facts import compose_format as facts
from tautochrone.facts import tile_format as tile

LEAKS = (
    *("tlb", "gate", "load-time", "page-mix", "kernel-path", "dma", "one-table"),
    *("rights", "alias", "uncleared", "stale-token", "kernel-state", "late-load"),
)
# In these a core keeps what another application left there.
SAME_TILE = ("tlb", "one-table", "alias")
# These act from one slot on the next one of the tile.
NEXT_SLOT = ("gate", "load-time", "kernel-path")
NEIGHBOR_FIFO_BYTES = UNIT
TABLE_APPLICATIONS = 4  # With 16 entries each, in the one table.
NOT_FOUND = {
    "tlb": "without neighbors its pages leave the TLB too: compare one --application",
    "gate": "every slot before one of its slots ended in the same cycle",
    "load-time": "the slots before its own had tables of the same size",
    "page-mix": "each load found pages of the sizes in its page list, so none was replaced",
    "kernel-path": "no task failed in a slot before one of its slots",
    "dma": "its words never met words of another channel",
    "one-table": "none of its pages had left the TLB",
    "rights": "no application was loaded and ran",
    "alias": "no load found another application with a page of the same size",
    "uncleared": "no application was loaded and ran",
    "stale-token": "no application with a FIFO was loaded and ran",
    "kernel-state": "no neighbor was loaded and ran",
    "late-load": "no load of a neighbor was too late",
}


def cannot_show(
    leak: str, system: System, names: Collection[str], neighbors: Collection[tuple[int, int]]
) -> str | None:
    """Why no run of SYSTEM can show LEAK in the applications NAMES; None if one may.

    NEIGHBORS are the tile and slot of each neighbor. All other applications are company too.
    """
    if leak in SAME_TILE and not any(
        has_company(system, place, names, neighbors) for place in tiles_of(system, names)
    ):
        what = "frames of one tile" if leak == "alias" else "the translations of one core"
        return f"it acts on {what}, and nobody else has a slot on their tiles"
    if leak in NEXT_SLOT and not _has_slot_behind(leak, system, names, neighbors):
        return "it acts from one slot on the next, and no neighbor has a slot before one of theirs"
    if leak == "dma" and not _shares_link(system, names):
        return "it lets DMA channels delay each other, and no other application has one there"
    if leak == "page-mix" and all(page.order == 0 for page in _pages(system, names)):
        return "all their pages have the smallest size, which no smaller ones can replace"
    if leak in ("kernel-state", "late-load") and not neighbors:
        return "it takes a neighbor, and the system has no idle slot for one"
    if leak == "stale-token" and not (
        any(each.fifos for each in system.applications if each.name in names)
        or (neighbors and leaves_room(system, neighbors))
    ):
        return "no FIFO has communication memory: neither theirs nor one of a neighbor"
    if leak == "one-table":
        last = max(system.number(name) for name in names)
        if last >= TABLE_APPLICATIONS:
            return (
                f"its one table holds {TABLE_APPLICATIONS} applications, and"
                f" {system.applications[last].name} is number {last + 1} of the file"
            )
    return None


def _pages(system: System, names: Collection[str]) -> list[Page]:
    """The pages of the applications NAMES that a load takes from the tile's memory."""
    return [
        page
        for application in system.applications
        for place in tiles_of(system, [application.name])
        if application.name in names
        for page in pages_of(system, application, place)
        if page.kind == facts.PAGE_KIND_OWN
    ]


def leaves_room(system: System, neighbors: Collection[tuple[int, int]]) -> bool:
    """Whether communication memory is left for a FIFO of each neighbor."""
    used = [0] * len(system.slots)
    for (name, number, side), first in communication_frames(system).items():
        application = system.applications[system.number(name)]
        fifo = application.fifos[number]
        place = system.tile_of(application, getattr(fifo, side))
        assert place is not None
        used[place] = max(used[place], first + fifo.page_bytes // UNIT)
    for place, _ in neighbors:
        used[place] += 2 * NEIGHBOR_FIFO_BYTES // UNIT
    return max(used) <= tile.SIZE_COMMUNICATION_FRAMES


def tiles_of(system: System, names: Collection[str]) -> list[int]:
    """The tiles on which one of the applications NAMES has a slot."""
    return [
        place
        for place in range(len(system.slots))
        if any(each.name in names and system.runs_on(each, place) for each in system.applications)
    ]


def has_company(
    system: System, place: int, names: Collection[str], neighbors: Collection[tuple[int, int]]
) -> bool:
    """Whether a neighbor, or an application that is not one of NAMES, has a slot on a tile."""
    others = {each.name for each in system.applications} - set(names)
    return place in {tile for tile, _ in neighbors} or place in tiles_of(system, others)


def not_found(leak: str) -> str:
    """Why LEAK may have stayed hidden in runs that had neighbors enough."""
    return NOT_FOUND[leak]


def _has_slot_behind(
    leak: str,
    system: System,
    names: Collection[str],
    neighbors: Collection[tuple[int, int]],
) -> bool:
    def owner(place: int, number: int) -> str:
        return system.slots[place][number].partition(".")[0]

    others = {each.name for each in system.applications} - set(names)
    if leak == "gate":  # The loader is busy or asleep, by who is loaded.
        others.add(LOADER)
    return any(
        owner(place, number) in names
        and (
            (place, (number - 1) % len(slots)) in neighbors
            or owner(place, (number - 1) % len(slots)) in others
        )
        for place, slots in enumerate(system.slots)
        for number in range(len(slots))
    )


def _shares_link(system: System, names: Collection[str]) -> bool:
    own = {each.place for each in channels_of(system) if each.application in names}
    return any(each.application not in names and each.place in own for each in channels_of(system))

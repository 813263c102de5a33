"""The report of `tau compose build`: each application's entries and memory on each tile."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tautochrone import unseen
from tautochrone.compose.bounds import os_slot_terms
from tautochrone.compose.description import Description
from tautochrone.compose.lateness import READY_CYCLES, estimates
from tautochrone.compose.making import Made, hashes, memory_bytes
from tautochrone.compose.system import pages_of
from tautochrone.console import output


def document(made: Made, description: Description, folder: Path | None) -> dict[str, Any]:
    """For JSON."""
    system = made.system
    return {
        "system": str(description.path),
        **hashes(made, description),
        "folder": str(folder) if folder else None,
        "start_cycle": system.start_cycle,
        "os_slot": {"cycles": system.os_slot_cycles, "bound": os_slot_terms(made.kernel)},
        "applications": [
            {
                "name": application.name,
                "tile": place,
                "tasks": [
                    task for task in application.tasks if system.tile_of(application, task) == place
                ],
                "entries": len(pages_of(system, application, place)),
                "memory_bytes": memory_bytes(
                    pages_of(system, application, place), application.pool_frames
                ),
            }
            for application in system.applications
            for place in range(len(system.slots))
            if system.runs_on(application, place)
        ],
        "loads": [asdict(each) for each in estimates(system)],
        unseen.KEY: [*unseen.COMPOSE_BUILD, *(unseen.COMPOSE_SWITCHES if system.switches else ())],
        "tiles": [
            {
                "slots": list(system.slots[place]),
                "major_frame_cycles": len(system.slots[place])
                * (system.user_slot_cycles + system.os_slot_cycles),
                "memory_kib": use.frames,
                "free_kib_least": use.free_least,
            }
            for place, use in enumerate(made.tiles)
        ],
    }


def show(result: dict[str, Any]) -> None:
    """Print for people."""
    print(f"{'application':<20} {'tile':>4} {'entries':>8} {'KiB':>8}  tasks")
    for each in result["applications"]:
        print(
            f"{each['name']:<20} {each['tile']:>4} {each['entries']:>8}"
            f" {each['memory_bytes'] // 1024:>8,}  {', '.join(each['tasks'])}"
        )
    for place, tile in enumerate(result["tiles"]):
        print(
            f"tile {place}: {len(tile['slots'])} slots in {tile['major_frame_cycles']:,} cycles;"
            f" of {tile['memory_kib']:,} KiB at least {tile['free_kib_least']:,} stay free"
        )
    early = 0
    for each in result["loads"]:
        is_late = each["epoch"] < each["smallest_epoch"]
        early += is_late
        asked = f", but the file says {each['epoch']}" if is_late else ""
        print(
            f"load of {each['application']} on tile {each['tile']}: about {each['cycles']:,} cycles"
            f" of the loader, from epoch {each['smallest_epoch']} on{asked}"
        )
    is_early = result["start_cycle"] < READY_CYCLES
    if is_early:
        cycle = result["start_cycle"]
        print(f"start_cycle {cycle:,} is too early: the kernel needs about {READY_CYCLES:,} cycles")
    slot = result["os_slot"]
    print(f"OS slot: {slot['cycles']} cycles, its bound is {sum(slot['bound'].values())}")
    where = f"; the files are in {result['folder']}" if result["folder"] else ""
    fits = "everything fits"
    if early:
        are = "is" if early == 1 else "are"
        fits = f"all fits in memory; {output.count(early, 'load')} {are} probably too early"
    elif is_early:
        fits = "all fits in memory"
    print(f"{fits}{where}")
    print(unseen.told(result[unseen.KEY]))

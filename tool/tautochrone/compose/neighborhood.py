"""Random comings and goings of neighbors, in frames that the loaders can keep.

A loader takes its commands one after the other, so each tile has a clock of its own. Neighbors come
before the system's own loads, so that these find a memory that others have used, and behind them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tautochrone.compose.run import Run
from tautochrone.compose.system import LOADER, Command, System

# A load of a neighbor takes less of the loader's own cycles (kernel/tests/tile/test_campaign.py).
LOAD_CYCLES_MAX = 45_000
MARGIN_FRAMES = 2
STAY_FRAMES_MAX = 6


@dataclass(frozen=True)
class Room:
    """Frames of a tile in which its loader is free: up to `early_end`, and from `late_first` on."""

    early_end: int
    late_first: int
    load_frames: int


def rooms(system: System, alone: Run) -> list[Room]:
    """When each tile's loader is free, by how long the system's own loads took alone."""
    found = []
    for place, slots in enumerate(system.slots):
        frame_cycles = len(slots) * (system.user_slot_cycles + system.os_slot_cycles)
        own = [
            command.major_frame
            for command in system.commands
            if system.runs_on(system.applications[system.number(command.application)], place)
        ]
        busy = sum(cycles for _, _, cycles in alone.tiles[place].set_up)
        busy_frames = -(-busy // frame_cycles) + MARGIN_FRAMES
        share = system.user_slot_cycles * slots.count(LOADER)
        found.append(
            Room(
                early_end=min(own) - busy_frames if own else 0,
                late_first=max(own, default=0) + MARGIN_FRAMES,
                load_frames=-(-LOAD_CYCLES_MAX // share) + MARGIN_FRAMES,
            )
        )
    return found


def neighborhood(
    system: System, places: Mapping[str, int], rooms: list[Room], seed: int, frames: int
) -> System:
    """The system with neighbors that come and go up to major frame FRAMES.

    PLACES has the tile of each neighbor.
    """
    chance = random.Random(seed)
    early: list[Command] = []
    late: list[Command] = []
    for place, room in enumerate(rooms):
        names = sorted(name for name, tile in places.items() if tile == place)
        started: dict[str, int] = {}
        if names:
            early += _phase(chance, names, started, room, 0, room.early_end)
            late += _phase(chance, names, started, room, room.late_first, frames)
    return replace(system, commands=(*early, *system.commands, *late))


def _phase(
    chance: random.Random,
    names: list[str],
    started: dict[str, int],
    room: Room,
    clock: int,
    end: int,
) -> list[Command]:
    """Commands of one tile from CLOCK to END. STARTED has who is there, and since when."""
    commands = []
    while clock + room.load_frames + STAY_FRAMES_MAX < end:
        absent = [name for name in names if name not in started]
        if absent and (not started or chance.randrange(2)):
            name = chance.choice(absent)
            clock += room.load_frames
            started[name] = clock + chance.randrange(MARGIN_FRAMES)
            commands.append(Command("load", name, started[name]))
        else:
            name = chance.choice(sorted(started))
            clock = max(clock, started.pop(name) + chance.randrange(1, STAY_FRAMES_MAX))
            commands.append(Command("unload", name, clock))
            clock += 1
    return commands

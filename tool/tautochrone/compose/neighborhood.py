"""Random comings and goings of neighbors, in frames that the loaders can keep.

A loader takes its commands one after the other, so each tile has a clock of its own.

    before the first own load    Neighbors come and go, so that it finds a memory that others used.
                                 Then all go, and all come again.
    at the first own load        All of them start, so that the shortest application has company.
    after the last own load      They go and come.

If the system leaves the loader no time before its own loads, these are later by whole major frames.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tautochrone.compose.memory import loads_of
from tautochrone.compose.run import Run
from tautochrone.compose.system import LOADER, Command, System

# A load of a neighbor takes less of the loader's own cycles (campaign.py measures each).
LOAD_CYCLES_MAX = 45_000
MARGIN_FRAMES = 2
STAY_FRAMES_MAX = 6


@dataclass(frozen=True)
class Room:
    """Major frames of a tile in which its loader is free for neighbors.

    They start with the first own load, in `first`. Their loads end by `early_end`, and begin again
    in `late_first`. Each takes less than `load_frames`.
    """

    first: int
    early_end: int
    late_first: int
    load_frames: int

    def later(self, frames: int) -> Room:
        """The same with all own loads so many major frames later."""
        return Room(
            self.first + frames,
            self.early_end + frames,
            self.late_first + frames,
            self.load_frames,
        )


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
                first=min(own, default=0),
                early_end=min(own) - busy_frames if own else 0,
                late_first=max(own, default=0) + MARGIN_FRAMES,
                load_frames=-(-LOAD_CYCLES_MAX // share) + MARGIN_FRAMES,
            )
        )
    return found


def delay_frames(rooms: list[Room], places: Mapping[str, int]) -> int:
    """How much later the own loads have to be, so that all neighbors can start with the first."""
    tiles = list(places.values())
    missing = [
        tiles.count(place) * room.load_frames - room.early_end
        for place, room in enumerate(rooms)
        if place in tiles
    ]
    return max([0, *missing])


def delayed(system: System, frames: int) -> System:
    """The system with all its commands so many major frames later."""
    later = tuple(replace(each, major_frame=each.major_frame + frames) for each in system.commands)
    return replace(system, commands=later)


def neighborhood(
    system: System, places: Mapping[str, int], rooms: list[Room], seed: int, frames: int
) -> System:
    """The system with neighbors that come and go up to major frame FRAMES.

    PLACES has the tile of each neighbor. One that would take memory which an own load needs does
    not come.
    """
    chance = random.Random(seed)
    early: list[Command] = []
    late: list[Command] = []
    for place, room in enumerate(rooms):
        names = sorted(name for name, tile in places.items() if tile == place)
        while names and not _leaves_room(system, names, place):
            names.pop()
        if names:
            started: dict[str, int] = {}
            together = room.early_end - len(names) * room.load_frames
            early += _phase(chance, names, started, room, 0, together)
            early += _all_go(started, together)
            order = chance.sample(names, len(names))
            early += [Command("load", name, room.first) for name in order]
            started = dict.fromkeys(names, room.first)
            late += _phase(chance, names, started, room, room.late_first, frames)
    return replace(system, commands=(*early, *system.commands, *late))


def _leaves_room(system: System, names: list[str], place: int) -> bool:
    """Whether all loads of a tile find their pages while these neighbors are there."""
    loads = [Command("load", name, 0) for name in names]
    full = replace(system, commands=(*loads, *system.commands))
    return all(load.missing is None for load in loads_of(full, place))


def _all_go(started: Mapping[str, int], clock: int) -> list[Command]:
    return [Command("unload", name, max(clock, since)) for name, since in sorted(started.items())]


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

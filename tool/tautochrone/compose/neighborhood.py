"""Random comings and goings of neighbors, in epochs that the loaders can keep.

A loader takes its commands one after the other, so each tile has a clock of its own.

    before the first own load    Neighbors come and go, so that it finds a memory that others used.
                                 Then all go, one is loaded too late to begin, and all come again.
    at the first own load        All of them start, so that the shortest application has company.
    after the last own load      They go and come.

If the system leaves the loader no time before its own loads, these are later by whole epochs.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tautochrone.compose.memory import loads_of
from tautochrone.compose.run import Run
from tautochrone.compose.system import Command, System, loader_cycles

# A load of a neighbor takes less of the loader's own cycles (campaign.py measures each).
LOAD_CYCLES_MAX = 45_000
MARGIN_EPOCHS = 2
TOO_LATE_EPOCH = 0  # Which has begun before any load can end.
STAY_EPOCHS_MAX = 6


@dataclass(frozen=True)
class Room:
    """Epochs of a tile in which its loader is free for neighbors.

    They start with the first own load, in `first`. Their loads end by `early_end`, and begin again
    in `late_first`. Each takes less than `load_epochs`.
    """

    first: int
    early_end: int
    late_first: int
    load_epochs: int

    def later(self, epochs: int) -> Room:
        """The same with all own loads so many epochs later."""
        return Room(
            self.first + epochs,
            self.early_end + epochs,
            self.late_first + epochs,
            self.load_epochs,
        )


def rooms(system: System, alone: Run) -> list[Room]:
    """When each tile's loader is free, by how long the system's own loads took alone."""
    found = []
    for place in range(len(system.slots)):
        own = [
            command.epoch
            for command in system.commands
            if system.runs_on(system.applications[system.number(command.application)], place)
        ]
        busy = sum(cycles for _, _, cycles in alone.tiles[place].set_up)
        busy_epochs = -(-busy // system.epoch_cycles) + MARGIN_EPOCHS
        share = loader_cycles(system, place)
        found.append(
            Room(
                first=min(own, default=0),
                early_end=min(own) - busy_epochs if own else 0,
                late_first=max(own, default=0) + MARGIN_EPOCHS,
                load_epochs=-(-LOAD_CYCLES_MAX // share) + MARGIN_EPOCHS,
            )
        )
    return found


def delay_epochs(rooms: list[Room], places: Mapping[str, int]) -> int:
    """How much later the own loads have to be, so that all neighbors can start with the first."""
    tiles = list(places.values())
    missing = [
        (tiles.count(place) + 1) * room.load_epochs - room.early_end
        for place, room in enumerate(rooms)
        if place in tiles
    ]
    return max([0, *missing])


def delayed(system: System, epochs: int) -> System:
    """The system with all its commands so many epochs later."""
    later = tuple(replace(each, epoch=each.epoch + epochs) for each in system.commands)
    return replace(system, commands=later)


def neighborhood(
    system: System, places: Mapping[str, int], rooms: list[Room], seed: int, epochs: int
) -> System:
    """The system with neighbors that come and go up to the epoch EPOCHS.

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
            gone = room.early_end - (len(names) + 1) * room.load_epochs
            early += _phase(chance, names, started, room, 0, gone)
            early += _all_go(started, gone)
            order = chance.sample(names, len(names))
            if gone >= 0:
                early.append(Command("load", order[0], TOO_LATE_EPOCH))
                early.append(Command("unload", order[0], gone + room.load_epochs))
            early += [Command("load", name, room.first) for name in order]
            started = dict.fromkeys(names, room.first)
            late += _phase(chance, names, started, room, room.late_first, epochs)
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
    while clock + room.load_epochs + STAY_EPOCHS_MAX < end:
        absent = [name for name in names if name not in started]
        if absent and (not started or chance.randrange(2)):
            name = chance.choice(absent)
            clock += room.load_epochs
            started[name] = clock + chance.randrange(MARGIN_EPOCHS)
            commands.append(Command("load", name, started[name]))
        else:
            name = chance.choice(sorted(started))
            clock = max(clock, started.pop(name) + chance.randrange(1, STAY_EPOCHS_MAX))
            commands.append(Command("unload", name, clock))
            clock += 1
    return commands

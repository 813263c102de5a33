"""Which loads are too late for their major frame, and the smallest one that works for each.

The kernel stops at the first load that is late. So the system runs again with all commands later,
until none is late, and the ends of its loads tell what each of them needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tautochrone.compose.neighborhood import delayed
from tautochrone.compose.run import Run
from tautochrone.compose.system import System

DELAYS_FRAMES = (16, 64, 256, 1024, 4096)


@dataclass(frozen=True)
class LateLoad:
    """A load that ends too late on a tile. `cycles`: how long it takes, other slots included."""

    application: str
    tile: int
    cycles: int
    major_frame: int
    smallest_frame: int

    @property
    def message(self) -> str:
        """One line for people."""
        return (
            f"the load of {self.application} takes {self.cycles:,} cycles on tile {self.tile}:"
            f" major frame {self.major_frame} is too early, {self.smallest_frame} is the first"
            " that works"
        )


def late_loads(system: System, simulate: Callable[[System, int], Run]) -> list[LateLoad]:
    """The first load of each application that is late; SIMULATE runs a system for major frames.

    Empty if the loads take more than the largest of DELAYS_FRAMES.
    """
    for delay in DELAYS_FRAMES:
        frames = max((each.major_frame for each in system.commands), default=0) + delay + 1
        done = simulate(delayed(system, delay), frames)
        if done.stopped is None:
            late = (
                _late_load(system, done, place, number, delay)
                for place in range(len(system.slots))
                for number in range(len(system.applications))
            )
            return [each for each in late if each is not None]
    return []


def _late_load(
    system: System, done: Run, place: int, number: int, delay: int
) -> LateLoad | None:
    """The first load of an application on a tile, if it is late without the delay."""
    name = system.applications[number].name
    tile = done.tiles[place]
    ended = next((cycle for application, cycle in tile.loaded if application == number), None)
    if ended is None:
        return None
    own = next(each for each in system.commands if each.application == name)
    before = system.commands[: system.commands.index(own)]
    # An unload waits for its major frame, which is later too; a load does not wait.
    waits = any(
        each.operation == "unload"
        and system.runs_on(system.applications[system.number(each.application)], place)
        for each in before
    )
    smallest = _first_frame(system, place, name, ended) - (delay if waits else 0)
    if smallest <= own.major_frame:
        return None
    steps = [cycles for _, application, cycles in tile.set_up if application == number]
    return LateLoad(name, place, sum(steps[:3]), own.major_frame, smallest)


def _first_frame(system: System, place: int, name: str, ended_cycle: int) -> int:
    """The first major frame in which all slots of an application find it loaded."""
    slots = system.slots[place]
    period = system.user_slot_cycles + system.os_slot_cycles
    frame, position = divmod((ended_cycle - system.start_cycle) // period, len(slots))
    first = next(at for at, slot in enumerate(slots) if slot.partition(".")[0] == name)
    return frame if position < first else frame + 1

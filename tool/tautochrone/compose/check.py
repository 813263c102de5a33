"""Composability as a test that can fail: an application alone, and beside random neighbors.

Every event of the application is compared by its absolute cycle: the start and end of each
iteration, each of its slots, and what it prints. On a difference the first event is named, and the
resource that its slot shared [P2-1, P2-18].
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tautochrone.compose.run import Run, Slot
from tautochrone.compose.system import Command, System

Event = tuple[int, str, int, int]  # tile, what, which, cycle


@dataclass(frozen=True)
class Difference:
    """The first event that is not where it was alone."""

    event: str
    alone: int | None
    beside: int | None
    resource: str


@dataclass(frozen=True)
class Verdict:
    """How many events were compared, and the largest difference in cycles."""

    events_compared: int
    largest_difference_cycles: int
    first: Difference | None


def slots_of(run: Run, place: int, application: int) -> list[Slot]:
    """The application's slots on a tile."""
    return [slot for slot in run.tiles[place].slots if slot.owner >> 8 == application]


def events(run: Run, application: int) -> list[Event]:
    """All that is compared, in the order of time on each tile."""
    found: list[Event] = []
    for place, tile in enumerate(run.tiles):
        for number, slot in enumerate(slots_of(run, place, application)):
            found.append((place, "slot released", number, slot.owner_cycle))
            found.append((place, "first instruction of slot", number, slot.first_cycle))
            found.append((place, "end of slot", number, slot.last_cycle))
        for mark in tile.marks:
            if mark.application == application:
                what = "end of iteration" if mark.value & 1 else "start of iteration"
                name = f"{what}, task {mark.value >> 24}"
                found.append((place, name, mark.value >> 1 & 0x7FFFFF, mark.cycle))
    return sorted(found, key=lambda event: (event[3], event))


def compare(alone: Run, beside: Run, application: int) -> Verdict:
    """Compare two runs; the events of one place, name and number belong together."""
    one = {event[:3]: event[3] for event in events(alone, application)}
    two = {event[:3]: event[3] for event in events(beside, application)}
    first: Difference | None = None
    largest = 0
    for key in sorted(one.keys() | two.keys(), key=lambda key: (min_of(one, two, key), key)):
        here, there = one.get(key), two.get(key)
        if here == there:
            continue
        if here is not None and there is not None:
            largest = max(largest, abs(here - there))
        if first is None:
            place, what, number = key
            name = f"{what} {number} on tile {place}"
            first = Difference(name, here, there, resource(alone, beside, application))
    if alone.output(application) != beside.output(application) and first is None:
        first = Difference("output", None, None, "memory")
    return Verdict(len(one), largest, first)


def min_of(one: dict, two: dict, key: tuple) -> int:
    """The earlier cycle of an event."""
    return min(cycle for cycle in (one.get(key), two.get(key)) if cycle is not None)


def resource(alone: Run, beside: Run, application: int) -> str:
    """What the first slot that differs shared, by what the slots recorded.

    In the order in which one causes the other. The core wakes at the gate, loads the table, names
    the owner, and enters it. What moved between two of these is the later one's.
    """
    for place in range(len(alone.tiles)):
        pairs = zip(
            slots_of(alone, place, application), slots_of(beside, place, application), strict=False
        )
        for one, two in pairs:
            if not (one.is_gated and two.is_gated):
                return "gate"
            if one.owner_cycle - one.awake_cycles != two.owner_cycle - two.awake_cycles:
                return "gate"
            if one.owner_cycle != two.owner_cycle:
                return "table load"
            if one.first_cycle != two.first_cycle:
                return "kernel path"
            if (one.misses_fetch, one.misses_data) != (two.misses_fetch, two.misses_data):
                mix = [
                    [step[2] for step in run.tiles[place].set_up if step[:2] == (0, application)]
                    for run in (alone, beside)
                ]
                return "TLB" if mix[0] == mix[1] else "page mix"
            if one.words_moved != two.words_moved or one.last_cycle != two.last_cycle:
                return "link" if one.words_moved != two.words_moved else "interrupt latency"
    return "unknown"


def neighborhood(
    system: System,
    names: Sequence[str],
    seed: int,
    frames: int,
    first_frame: int,
    load_frames: int = 8,
) -> System:
    """The system with neighbors that come and go at random, up to major frame FRAMES.

    The loader takes commands in their order, so a clock of its own goes along: it is busy until
    FIRST_FRAME with the system's own commands, and LOAD_FRAMES with each load.
    """
    chance = random.Random(seed)
    commands: list[Command] = []
    clock = first_frame
    started: dict[str, int] = {}
    while clock + 2 * load_frames < frames:
        absent = [name for name in sorted(names) if name not in started]
        if absent and (not started or chance.randrange(2)):
            name = chance.choice(absent)
            clock += load_frames
            started[name] = clock + chance.randrange(4)
            commands.append(Command("load", name, started[name]))
        else:
            name = chance.choice(sorted(started))
            clock = max(clock, started.pop(name) + chance.randrange(1, 6))
            commands.append(Command("unload", name, clock))
            clock += 1
    return replace(system, commands=(*system.commands, *commands))

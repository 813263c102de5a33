"""Composability as a test that can fail: a run of an application alone, and one with others.

Every event of the application is compared by its absolute cycle: the start and end of each
iteration, each of its slots, its kernel calls and exceptions. So are the TLB misses of each slot,
for programs that mark nothing, and its output. A difference names the first event, and the resource
that its slot shared [P2-1, P2-18].
"""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass

from tautochrone.compose.run import Mark, Run, Slot
from tautochrone.compose.system import System, uses_link

Event = tuple[int, str, int, int]  # Tile, what, which, cycle.
UNEXPLAINED = "link"  # The resource of a difference that no count explains.


@dataclass(frozen=True)
class Difference:
    """The first event whose cycle differs from its cycle alone.

    Both values are cycles, or counts if `is_count`. None: it did not happen.
    """

    event: str
    alone: int | None
    beside: int | None
    resource: str
    is_count: bool = False


@dataclass(frozen=True)
class Verdict:
    """How many events were compared, and the largest difference in cycles."""

    events_compared: int
    largest_difference_cycles: int
    first: Difference | None

    @property
    def until_cycle(self) -> int | None:
        """Until then nothing differed; None if nothing did. 0 if no cycle is known."""
        if self.first is None:
            return None
        if self.first.is_count:
            return 0
        cycles = (self.first.alone, self.first.beside)
        return min((each for each in cycles if each is not None), default=0)


def slots_of(run: Run, place: int, application: int) -> list[Slot]:
    """The application's slots on a tile."""
    return [slot for slot in run.tiles[place].slots if slot.owner >> 8 == application]


def mark_name(mark: Mark) -> tuple[str, int]:
    """The mark's meaning: start or end of an iteration of a task, and which."""
    what = "end of iteration" if mark.value & 1 else "start of iteration"
    life = f"life {mark.life}, " if mark.life > 1 else ""
    return f"{life}task {mark.value >> 24}: {what}", mark.value >> 1 & 0x7FFFFF


def marks_of(run: Run, place: int, application: int) -> dict[tuple[str, int], Mark]:
    """The application's marks on a tile. One that a task repeats has the number of its turn."""
    found: dict[tuple[str, int], Mark] = {}
    turns: Counter[tuple[str, int]] = Counter()
    for mark in run.tiles[place].marks:
        if mark.application == application:
            name, number = key = mark_name(mark)
            turns[key] += 1
            found[f"turn {turns[key]}, {name}" if turns[key] > 1 else name, number] = mark
    return found


def events(run: Run, application: int) -> list[Event]:
    """All that is compared, in the order of time on each tile."""
    found: list[Event] = []
    for place in range(len(run.tiles)):
        for number, slot in enumerate(slots_of(run, place, application)):
            found.append((place, "slot released", number, slot.owner_cycle))
            found.append((place, "first instruction of slot", number, slot.first_cycle))
            found.append((place, "end of slot", number, slot.last_cycle))
            for call, cycle in enumerate(slot.call_cycles):
                found.append((place, f"kernel call or exception {call} of slot", number, cycle))
        for name, mark in marks_of(run, place, application).items():
            found.append((place, *name, mark.cycle))
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
            shared = resource(alone, beside, application, place)
            first = Difference(name, here, there, shared)
    first = first or _different_misses(alone, beside, application)
    if alone.output(application) != beside.output(application) and first is None:
        first = Difference("output", None, None, "memory")
    return Verdict(len(one), largest, first)


def _different_misses(alone: Run, beside: Run, application: int) -> Difference | None:
    """The first slot that missed more or less often, where no event moved."""
    for place in range(len(alone.tiles)):
        pairs = zip(*(slots_of(run, place, application) for run in (alone, beside)), strict=True)
        for number, (one, two) in enumerate(pairs):
            if one.misses != two.misses:
                shared = _named_by_entries(alone, beside, application, place)
                name = f"TLB misses of slot {number} on tile {place}"
                return Difference(name, one.misses, two.misses, shared, is_count=True)
    return None


def min_of(one: dict, two: dict, key: tuple) -> int:
    """The earlier cycle of an event."""
    return min(cycle for cycle in (one.get(key), two.get(key)) if cycle is not None)


def resource(alone: Run, beside: Run, application: int, first_place: int) -> str:
    """What the application shared when it first differed, by what slots and marks recorded.

    The tile of the first event is looked at first. If nothing there explains it, a task waited for
    a task of another tile. A difference that no count explains came over the link.
    """
    if beside.refusals(application) != alone.refusals(application):
        return "memory"
    for place in sorted(range(len(alone.tiles)), key=lambda place: place != first_place):
        for explain in (resource_of_slots, resource_of_work, resource_of_counts):
            named = explain(alone, beside, application, place)
            if named is not None:
                return named
    return UNEXPLAINED


def resource_of_slots(alone: Run, beside: Run, application: int, place: int) -> str | None:
    """The cause that delayed the beginning of a slot on a tile.

    In the order in which one causes the other. The core wakes at the gate, loads the table, names
    the owner, and enters it. What moved between two of these is the later one's.
    """
    runs = (alone, beside)
    for one, two in zip(*(slots_of(run, place, application) for run in runs), strict=False):
        if not (one.is_gated and two.is_gated):
            return "gate"
        if one.owner_cycle - one.awake_cycles != two.owner_cycle - two.awake_cycles:
            return "gate"
        if one.owner_cycle != two.owner_cycle:
            return "table load"
        if one.first_cycle != two.first_cycle:
            return "kernel path"
    return None


def resource_of_work(alone: Run, beside: Run, application: int, place: int) -> str | None:
    """What delayed the work in slots that began in time, by the first mark that moved.

    Counts go from the beginning of the slot to the mark. If one run has it in a later slot, all of
    the slot counts in which it is missing. Thus nothing counts that is a consequence. None if no
    slot had begun, as in runs whose slots nobody recorded.
    """
    runs = (alone, beside)
    one, two = (marks_of(run, place, application) for run in runs)
    moved = [
        (one[key], two[key]) for key in one.keys() & two.keys() if one[key].cycle != two[key].cycle
    ]
    if not moved:
        return None
    first = min(moved, key=lambda pair: min(mark.cycle for mark in pair))
    (early, _), (late, late_run) = sorted(
        zip(first, runs, strict=True), key=lambda each: each[0].cycle
    )
    slots = slots_of(late_run, place, application)
    slot = next((slot for slot in reversed(slots) if slot.owner_cycle <= early.cycle), None)
    if slot is None:
        return None
    had: Mark | Slot = late if late.cycle <= slot.last_cycle else slot
    if had.misses > early.misses:
        return _named_by_entries(alone, beside, application, place)
    return "DMA" if had.words_moved != early.words_moved else None


def resource_of_counts(alone: Run, beside: Run, application: int, place: int) -> str | None:
    """What delayed work by slots that began and ended in time: an iteration of several slots, or a
    program that marks nothing. It is what the first slot with other counts counted otherwise.
    """
    pairs = zip(*(slots_of(run, place, application) for run in (alone, beside)), strict=False)
    for one, two in pairs:
        if one.misses != two.misses:
            return _named_by_entries(alone, beside, application, place)
        if one.words_moved != two.words_moved:
            return "DMA"
    return None


def _named_by_entries(alone: Run, beside: Run, application: int, place: int) -> str:
    """The name of misses: with other pages it is the page mix, with the same ones the TLB."""
    entries = [
        {count for owner, count in run.tiles[place].entries if owner == application}
        for run in (alone, beside)
    ]
    return "TLB" if entries[0] == entries[1] else "page mix"


def did_run(slot: Slot) -> bool:
    """Whether the slot's owner executed an instruction in it.

    A task that ends, waits or fails makes a call or an exception, after which the slot is idle.
    """
    return not slot.is_idle or slot.calls > 0


def _releases(run: Run, place: int, application: int) -> list[int]:
    slots = slots_of(run, place, application)
    return sorted(slot.owner_cycle for slot in slots if did_run(slot))


def slots_together(system: System, run: Run, place: int, one: int, other: int) -> int:
    """Slots of a tile in which application ONE ran, and OTHER at most a major frame before it.

    OTHER's slots on the other tile count only if both send over the link.
    """
    both_send = all(uses_link(system, system.applications[number]) for number in (one, other))
    places = range(len(system.slots)) if both_send else [place]
    frame_cycles = len(system.slots[place]) * (system.user_slot_cycles + system.os_slot_cycles)
    theirs = sorted(cycle for each in places for cycle in _releases(run, each, other))
    return sum(
        bisect_left(theirs, cycle - frame_cycles) < bisect_left(theirs, cycle)
        for cycle in _releases(run, place, one)
    )

"""Which loads are too late for their major frame, and the smallest one that works for each; and
the smallest start cycle that works.

Before a run an estimate says so, by what a load copies and clears. After a run it is measured. The
kernel stops at the first load that is late. So the system runs again with all commands later,
until none is late, and the ends of its loads tell what each of them needs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tautochrone.compose.neighborhood import delayed
from tautochrone.compose.pages import file_bytes_of
from tautochrone.compose.run import EARLY_START, Run
from tautochrone.compose.system import LOADER, Application, System, pages_of
from tautochrone.facts import compose_format as facts

START_STEP_CYCLES = 1000
DELAYS_FRAMES = (16, 64, 256, 1024, 4096)
# The loader's, measured on the tile with 7 applications of 5 to 35 entries, and rounded up.
LOAD_CYCLES, ENTRY_CYCLES, CLEARED_WORD_CYCLES, COPIED_WORD_CYCLES = 4000, 400, 3, 21


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


@dataclass(frozen=True)
class Estimate:
    """A load before it was run: cycles of the loader alone, and the first frame that should work.

    `major_frame` is the one that the file asks for.
    """

    application: str
    tile: int
    cycles: int
    major_frame: int
    smallest_frame: int


def estimates(system: System) -> list[Estimate]:
    """Each load of each tile, in the order of the commands."""
    found = []
    for place, slots in enumerate(system.slots):
        loader = [number for number, slot in enumerate(slots) if slot == LOADER]
        frame_cycles = system.user_slot_cycles * len(loader)
        own_cycles = 0  # The loader's, from the first slot on.
        for command in system.commands:
            application = system.applications[system.number(command.application)]
            if not system.runs_on(application, place):
                continue
            if command.operation == "unload":
                own_cycles = max(own_cycles, command.major_frame * frame_cycles)
                continue
            cycles = _load_cycles(system, application, place)
            own_cycles += cycles
            frame, rest = divmod(own_cycles, frame_cycles)
            ended = frame * len(slots) + loader[rest // system.user_slot_cycles]
            smallest = _frame_behind(slots, application.name, ended)
            found.append(
                Estimate(application.name, place, cycles, command.major_frame, smallest)
            )
    return found


def _load_cycles(system: System, application: Application, place: int) -> int:
    pages = pages_of(system, application, place)
    own = sum(page.size_bytes for page in pages if page.kind == facts.PAGE_KIND_OWN)
    copied = file_bytes_of(application.executable)
    cleared = own - min(copied, own) + application.pool_frames * facts.SIZE_PAGE_BYTES_MIN
    return (
        LOAD_CYCLES
        + ENTRY_CYCLES * len(pages)
        + CLEARED_WORD_CYCLES * cleared // 4
        + COPIED_WORD_CYCLES * copied // 4
    )


def least_start(system: System, done: Run, simulate: Callable[[System, int], Run]) -> int | None:
    """A start cycle that a run has shown to work, if DONE's is too early for a tile."""
    least, frames = None, 1
    while True:
        if found := EARLY_START.search(done.stopped or ""):  # At most once for each tile.
            least = -(-int(found[1]) // START_STEP_CYCLES) * START_STEP_CYCLES
            system = replace(system, start_cycle=least)
        elif done.stopped or all(tile.slots for tile in done.tiles):
            return least
        else:  # The run ended before a tile was ready.
            frames *= 4
        done = simulate(system, frames)


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
    period = system.user_slot_cycles + system.os_slot_cycles
    return _frame_behind(system.slots[place], name, (ended_cycle - system.start_cycle) // period)


def _frame_behind(slots: Sequence[str], name: str, ended_slot: int) -> int:
    frame, position = divmod(ended_slot, len(slots))
    first = next(at for at, slot in enumerate(slots) if slot.partition(".")[0] == name)
    return frame if position < first else frame + 1

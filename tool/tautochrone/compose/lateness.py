"""Which loads are too late for their epoch, and the smallest one that works for each; and the
smallest start cycle that works.

Before a run an estimate says so, by what a load copies and clears. In a run the loader refuses a
load that is late, and goes on. When it ended tells which epoch would have worked.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tautochrone.compose.pages import file_bytes_of
from tautochrone.compose.run import EARLY_START, Answer, Run
from tautochrone.compose.system import (
    Application,
    Command,
    System,
    commands_of,
    loader_cycles,
    pages_of,
)
from tautochrone.facts import compose_format as facts

START_STEP_CYCLES = 1000
READY_CYCLES = 85_000  # About when the kernel is ready, measured with 64 to 1,024 KiB of frames.
MORE_EPOCHS = (0, 16, 64, 256, 1024, 4096)
# The loader's, measured on the tile with 7 applications of 5 to 35 entries, and rounded up.
LOAD_CYCLES, ENTRY_CYCLES, CLEARED_WORD_CYCLES, COPIED_WORD_CYCLES = 4700, 440, 3, 21


@dataclass(frozen=True)
class LateLoad:
    """A load that ends too late on a tile. `cycles`: how long it takes, other slots included."""

    application: str
    tile: int
    cycles: int
    epoch: int
    smallest_epoch: int

    @property
    def message(self) -> str:
        """One line for people."""
        return (
            f"the load of {self.application} takes {self.cycles:,} cycles on tile {self.tile}:"
            f" epoch {self.epoch} is too early, {self.smallest_epoch} is the first that works"
        )


@dataclass(frozen=True)
class LateUnload:
    """The end of a life that a tile's loader heard of in epoch `taken`: when it had begun."""

    application: str
    tile: int
    epoch: int
    taken: int

    @property
    def message(self) -> str:
        """One line for people."""
        return (
            f"the loader of tile {self.tile} heard in epoch {self.taken} that {self.application}"
            f" ends with epoch {self.epoch}: it ran until then"
        )


@dataclass(frozen=True)
class Estimate:
    """A load before it was run: cycles of the loader alone, and the first epoch that should work.

    `epoch` is the one that the file asks for.
    """

    application: str
    tile: int
    cycles: int
    epoch: int
    smallest_epoch: int


def estimates(system: System) -> list[Estimate]:
    """Each load of each tile, in the order of the commands."""
    found = []
    for place in range(len(system.slots)):
        epoch_cycles = loader_cycles(system, place)
        own_cycles = 0  # The loader's, from the first slot on.
        for command in commands_of(system, place):
            if command.operation == "unload":
                own_cycles = max(own_cycles, command.epoch * epoch_cycles)
                continue
            application = system.applications[system.number(command.application)]
            cycles = _load_cycles(system, application, place)
            own_cycles = max(own_cycles, command.arrival * epoch_cycles) + cycles
            smallest = own_cycles // epoch_cycles + 1
            found.append(Estimate(application.name, place, cycles, command.epoch, smallest))
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
    least, epochs = None, 1
    while True:
        if found := EARLY_START.search(done.stopped or ""):  # At most once for each tile.
            least = -(-int(found[1]) // START_STEP_CYCLES) * START_STEP_CYCLES
            system = replace(system, start_cycle=least)
        elif done.stopped or all(tile.slots for tile in done.tiles):
            return least
        else:  # The run ended before a tile was ready.
            epochs *= 4
        done = simulate(system, epochs)


def late_loads(
    system: System, done: Run, epochs: int, simulate: Callable[[System, int], Run]
) -> list[LateLoad]:
    """The loads of each tile that were late in DONE, a run of so many epochs.

    SIMULATE runs the system for more epochs if a load whose epoch has begun was not finished. A
    load that takes more than the largest of MORE_EPOCHS is not found.
    """
    for more in MORE_EPOCHS:
        run = simulate(system, epochs + more) if more else done
        if run.stopped is not None:
            return []
        places = range(len(system.slots))
        answered = [load for place in places for load in _answered(system, run, place, "load")]
        if all(answer for _, command, answer in answered if command.epoch < epochs):
            break
    late = []
    for place, command, answer in answered:
        if answer is not None and answer.code == facts.ANSWER_LATE:
            smallest = system.epoch_of(answer.cycle) + 1
            own = (command.application, place, answer.cycles, command.epoch, smallest)
            late.append(LateLoad(*own))
    return late


def late_unloads(system: System, done: Run) -> list[LateUnload]:
    """Those that came too late in a run, by tiles."""
    return [
        LateUnload(command.application, place, command.epoch, system.epoch_of(answer.cycle))
        for place in range(len(system.slots))
        for _, command, answer in _answered(system, done, place, "unload", "end")
        if answer is not None and answer.code == facts.ANSWER_LATE
    ]


def _answered(
    system: System, run: Run, place: int, *operations: str
) -> Iterator[tuple[int, Command, Answer | None]]:
    """Each command of a tile for such operations, and the loader's answer if it came."""
    answers = run.tiles[place].answers
    for number, command in enumerate(commands_of(system, place)):
        if command.operation in operations:
            yield place, command, answers[number] if number < len(answers) else None


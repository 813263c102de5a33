"""Runs a system on the simulated tiles, and reads the records of each slot and task."""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tautochrone.compose.audit import Audit
from tautochrone.compose.making import Made
from tautochrone.compose.system import System, command_words, commands_of
from tautochrone.errors import TauError
from tautochrone.facts import tile_format as tile
from tautochrone.tile import build
from tautochrone.tile.records import Record, records_of
from tautochrone.tile.simulation import simulate

KERNEL_LINE = re.compile(r"(\[\d\] )?kernel: ")
APPLICATION_LINE = re.compile(r"(\[\d\] )?application (\d+): ")
FRAME_BITS = 18
ALLOCATE, LOAD, ANSWER = 0, 2, 4  # The loader's stopwatches of these steps, and of a command.
EARLY_START = re.compile(r"start_cycle is too small for this tile, which needs (\d+)")
TRAP_CYCLES = 10  # More than lie between waking up and the trap of the same interrupt.


@dataclass
class Slot:
    """A user slot: its owner (application << 8 | task), when it began, and its counts.

    `awake_cycles`: from the end of the core's sleep to `owner_cycle`. `is_gated`: it slept behind
    the end of the slot before. Counts are complete when the next slot begins; the last slot's
    are 0.
    """

    owner: int
    owner_cycle: int
    first_cycle: int
    last_cycle: int
    call_cycles: tuple[int, ...]  # When it called the kernel, or raised an exception.
    awake_cycles: int = 0
    is_gated: bool = True
    misses_fetch: int = 0
    misses_data: int = 0
    words_moved: int = 0
    is_idle: bool = False  # At its end: its owner had nothing to do, or was stopped.

    @property
    def calls(self) -> int:
        """Kernel calls and exceptions."""
        return len(self.call_cycles)

    @property
    def misses(self) -> int:
        """Misses of fetches and data."""
        return self.misses_fetch + self.misses_data


@dataclass(frozen=True)
class Mark:
    """A store to an application's mark, and what its slot had until then.

    `life`: how often the application had been loaded on the tile.
    """

    application: int
    value: int
    cycle: int
    misses: int = 0
    words_moved: int = 0
    life: int = 1


@dataclass(frozen=True)
class Answer:
    """How a loader carried out a command: facts.ANSWER_…, how long it took, and when it ended."""

    application: int
    code: int
    life: int
    cycle: int
    cycles: int


@dataclass(frozen=True)
class Failure:
    """An exception of a task: its cause as in mcause, where, and the address that it was about."""

    cause: int
    pc: int
    address: int
    cycle: int


@dataclass
class TileRun:
    """Results of one tile."""

    slots: list[Slot] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    set_up: list[tuple[int, int, int]] = field(default_factory=list)  # Step, application, cycles.
    failures: dict[int, Failure] = field(default_factory=dict)  # The last one of each owner.
    entries: list[tuple[int, int]] = field(default_factory=list)  # Application, of each set-up.
    answers: list[Answer] = field(default_factory=list)  # In the order of the tile's commands.


@dataclass(frozen=True)
class Run:
    """A simulation: exit code, output, and each tile."""

    code: int
    console: str
    messages: str
    tiles: list[TileRun]
    audits: tuple[Audit, ...] = ()  # Of each tile, if asked for.

    def events(self, application: int) -> list[tuple[int, int, int]]:
        """Tile, value and cycle of each mark of an application, by time on each tile."""
        return [
            (number, mark.value, mark.cycle)
            for number, each in enumerate(self.tiles)
            for mark in each.marks
            if mark.application == application
        ]

    @property
    def stopped(self) -> str | None:
        """Why a kernel stopped before the end; None if none did."""
        if "cycle limit" in self.messages:
            return None
        said = self.kernel_lines()
        return (said or self.messages.splitlines() or ["without a message"])[-1]

    def _lines(self) -> list[str]:
        """Only a line feed ends one: an application may print anything else that looks like it."""
        return self.console.split("\n")

    def kernel_lines(self) -> list[str]:
        """Messages of the kernels; with several tiles a line begins with the tile's number."""
        return [line for line in self._lines() if KERNEL_LINE.match(line)]

    def refusals(self, application: int) -> list[str]:
        """Messages of the kernels that refused to load an application."""
        said = f"application {application} is refused"
        return [line for line in self.kernel_lines() if said in line]

    def output(self, application: int) -> list[str]:
        """Output of an application."""
        names = ((line, APPLICATION_LINE.match(line)) for line in self._lines())
        return [line for line, name in names if name and int(name[2]) == application]


def simulator_options(unit_parameters: tuple[str, ...] = ()) -> build.Options:
    """How a system's simulator is built."""
    return build.Options(
        unit="composable",
        frame_bits=FRAME_BITS,
        special_frames=True,
        unit_parameters=unit_parameters,
    )


def simulator_of(
    unit_parameters: tuple[str, ...] = (), training: Sequence[str] | None = None
) -> Path:
    """The simulator of a system, built if needed. TRAINING: the command line of a long run."""
    path = build.simulator(simulator_options(unit_parameters), training=training)
    assert path is not None
    return path


def run(
    folder: Path,
    kernel: Path,
    content: bytes,
    tiles: int,
    cycles_max: int,
    dma_turns: bool = True,
    unit_parameters: tuple[str, ...] = (),
    label: str = "the simulation",
    filling: int = 0,
    mailboxes: Sequence[bytes] = (),
) -> Run:
    """Simulate under a bar with this label. Raises TauError if the simulator cannot be run.

    With a FILLING memory begins with numbers chosen by it, as if others had been there, and what
    applications reach is audited. MAILBOXES has the commands of each tile's mailbox.
    """
    image = folder / "system.bin"
    image.write_bytes(content)
    words = ["--program", kernel, "--image", f"{image}@0"]
    words += [] if dma_turns else ["--no-dma-turns"]
    words += ["--fill", filling] if filling else []
    for number, commands in enumerate(mailboxes):
        given = folder / f"commands-{number}.bin"
        given.write_bytes(commands)
        words += ["--commands", given]
    is_long = cycles_max * tiles >= build.CYCLES_WORTH_TRAINING
    training = [*map(str, words), "--tiles", str(tiles)] if is_long else None
    simulator = simulator_of(unit_parameters, training)
    done = simulate(simulator, words, cycles_max, tiles=tiles, label=label, has_audit=filling != 0)
    if not done.summary:  # Results may be empty: a kernel that was not ready records nothing.
        raise TauError("the simulator failed", "read its messages above", said=done.messages)
    records = [read(each) for each in done.results]
    audits = tuple(map(Audit.read, done.audits))
    return Run(done.code, done.console, done.messages, records, audits)


def run_made(
    folder: Path,
    made: Made,
    epochs: int,
    leak: str = "none",
    label: str = "the simulation",
    filling: int = 0,
) -> Run:
    """Simulate so many epochs."""
    cycles, tiles = made.system.cycles(epochs), len(made.system.slots)
    files, given = (folder, made.kernel, made.content), mailboxes_of(made.system)
    turns = leak != "dma"
    return run(
        *files, tiles, cycles, turns, label=label, filling=filling, mailboxes=given
    )


def mailboxes_of(system: System) -> list[bytes]:
    """The commands of each tile's mailbox; none if the system has no switches."""
    if not system.switches:
        return []
    return [
        b"".join(
            struct.pack("<4I", *command_words(system, command))
            for command in commands_of(replace(system, commands=()), place)
        )
        for place in range(len(system.slots))
    ]


def _count(slot: Slot, before: Record, after: Record) -> None:
    """Counts of a slot, from the counters at its owner's beginning and at the next one's."""
    slot.misses_fetch = after.cycles - before.cycles
    slot.misses_data = after.value - before.value
    slot.words_moved = after.sent - before.sent


def _mark(before: Record | None, record: Record, life: int) -> Mark:
    since = before or Record(0, 0, 0, 0, 0, 0, 0)
    misses = record.value - since.cycles + record.faults - since.value
    words_moved = record.sent - since.sent
    return Mark(record.cycles, record.tag, record.at_cycle, misses, words_moved, life)


def read(content: bytes) -> TileRun:
    """The slots and marks of a tile from its records."""
    found = TileRun()
    begun: Record | None = None
    before: Record | None = None
    first_cycle = 0
    calls: list[int] = []
    lives: dict[int, int] = {}
    for record in records_of(content):
        if record.channel == tile.CHANNEL_OWNER:
            if before is not None:
                _count(found.slots[-1], before, record)
            begun, before, first_cycle, calls = record, record, 0, []
        elif record.channel == tile.CHANNEL_RESUME and begun is not None and first_cycle == 0:
            first_cycle = record.at_cycle
        elif record.channel == tile.CHANNEL_TRAP and begun is not None:
            cause, pc, address = record.tag, record.cycles, record.value
            if cause & 0x3F == 0x27 or cause >> 31:
                found.slots.append(_slot(found, begun, first_cycle, record, calls))
                begun = None
            else:
                calls.append(record.at_cycle)
                found.failures[begun.tag] = Failure(cause, pc, address, record.at_cycle)
        elif record.channel == tile.CHANNEL_MARK:
            found.marks.append(_mark(before, record, lives.get(record.cycles, 1)))
        elif record.channel == ANSWER:
            found.answers.append(
                Answer(record.tag, record.value, record.sent, record.at_cycle, record.cycles)
            )
        elif record.channel < ANSWER:
            found.set_up.append((record.channel, record.tag, record.cycles))
            if record.channel == ALLOCATE:
                found.entries.append((record.tag, record.value))
            elif record.channel == LOAD:
                lives[record.tag] = record.sent
    return found


def _slot(found: TileRun, begun: Record, first_cycle: int, end: Record, calls: list[int]) -> Slot:
    """A slot that began with the record of its owner, and ended with a trap."""
    slept_cycle = begun.at_cycle - begun.faults
    return Slot(
        begun.tag,
        begun.at_cycle,
        first_cycle,
        end.at_cycle,
        tuple(calls),
        awake_cycles=begun.faults,
        is_gated=not found.slots or slept_cycle > found.slots[-1].last_cycle + TRAP_CYCLES,
        is_idle=end.cycles < tile.ADDRESS_WINDOW,  # In the kernel.
    )

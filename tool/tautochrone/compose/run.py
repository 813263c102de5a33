"""Runs a system on the simulated tiles, and reads what each slot and each task recorded."""

from __future__ import annotations

import re
import struct
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tautochrone.compose.making import Made
from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.facts import tile_format as tile
from tautochrone.replay.tile.program import build_module, hardware_folder
from tautochrone.replay.tile.progress import run_whole

KERNEL_LINE = re.compile(r"(\[\d\] )?kernel: ")
RECORD = struct.Struct("<8I")
FRAME_BITS = 18
ALLOCATE, LOAD = 0, 2  # the loader's stopwatches of these steps
TOO_LATE = "an application is loaded too late for its major frame"
EARLY_START = re.compile(r"start_cycle is too small for this tile, which needs (\d+)")
TRAP_CYCLES = 10  # more than lie between waking up and the trap of the same interrupt


@dataclass
class Slot:
    """A user slot: its owner (application << 8 | task), when it began, and what it had.

    `awake_cycles`: from the end of the core's sleep to `owner_cycle`. `is_gated`: it slept behind
    the end of the slot before. Counts are complete when the next slot begins; those of the last
    slot are 0.
    """

    owner: int
    owner_cycle: int
    first_cycle: int
    last_cycle: int
    call_cycles: tuple[int, ...]  # when it called the kernel, or raised an exception
    awake_cycles: int = 0
    is_gated: bool = True
    misses_fetch: int = 0
    misses_data: int = 0
    words_moved: int = 0
    is_idle: bool = False  # at its end: its owner had nothing to do, or was stopped

    @property
    def calls(self) -> int:
        """Kernel calls and exceptions."""
        return len(self.call_cycles)

    @property
    def misses(self) -> int:
        """Of fetches and data."""
        return self.misses_fetch + self.misses_data


@dataclass(frozen=True)
class Mark:
    """A store to an application's mark, and what its slot had until then."""

    application: int
    value: int
    cycle: int
    misses: int = 0
    words_moved: int = 0


@dataclass(frozen=True)
class Failure:
    """An exception of a task: its cause as in mcause, where, and the address that it was about."""

    cause: int
    pc: int
    address: int
    cycle: int


@dataclass
class TileRun:
    """What one tile did."""

    slots: list[Slot] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    set_up: list[tuple[int, int, int]] = field(default_factory=list)  # step, application, cycles
    failures: dict[int, Failure] = field(default_factory=dict)  # the last one of each owner
    entries: list[tuple[int, int]] = field(default_factory=list)  # application, of each set-up
    loaded: list[tuple[int, int]] = field(default_factory=list)  # application, and when it was


@dataclass(frozen=True)
class Run:
    """A simulation: exit code, what was printed, and each tile."""

    code: int
    console: str
    messages: str
    tiles: list[TileRun]

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

    def kernel_lines(self) -> list[str]:
        """What the kernels said; with several tiles a line begins with the tile's number."""
        return [line for line in self.console.splitlines() if KERNEL_LINE.match(line)]

    def refusals(self, application: int) -> list[str]:
        """What the kernels said when they refused to load an application."""
        said = f"application {application} is refused"
        return [line for line in self.kernel_lines() if said in line]

    def output(self, application: int) -> list[str]:
        """What an application printed."""
        name = f"application {application}: "
        return [line for line in self.console.splitlines() if name in line]


def simulator_of(
    tiles: int, unit_parameters: tuple[str, ...] = ()
) -> tuple[Path, dict[str, Any]]:
    """The simulator of a system with so many tiles, and its options; built if needed."""
    module = build_module(hardware_folder())
    options = module.Options(
        unit="composable",
        tiles=tiles,
        frame_bits=FRAME_BITS,
        special_frames=True,
        unit_parameters=unit_parameters,
    )
    try:
        return module.simulator(options, True, output.note), asdict(options)
    except module.BuildError as error:
        raise TauError(
            f"the simulator cannot be built: {error}",
            error.next_step or "run `tau doctor` to see what is missing",
        ) from error


def run(
    folder: Path,
    kernel: Path,
    content: bytes,
    tiles: int,
    cycles_max: int,
    dma_turns: bool = True,
    timeout_seconds: int = 600,
    unit_parameters: tuple[str, ...] = (),
    label: str = "the simulation",
) -> Run:
    """Simulate under a bar with this label. Raises TauError if the simulator cannot be run."""
    simulator, _ = simulator_of(tiles, unit_parameters)
    image = folder / "system.bin"
    image.write_bytes(content)
    results = [folder / f"results-{number}.bin" for number in range(tiles)]
    line = [str(simulator), "--program", str(kernel), "--image", f"{image}@0"]
    line += ["--cycles-max", str(cycles_max)]
    if not dma_turns:
        line.append("--no-dma-turns")
    for path in results:
        line += ["--results", str(path)]
    done = run_whole(line, label, timeout_seconds)
    if not all(path.exists() for path in results):
        raise TauError("the simulator failed", "see what it said above", said=done.stderr)
    return Run(
        done.returncode, done.stdout, done.stderr, [read(path.read_bytes()) for path in results]
    )


def run_made(
    folder: Path,
    made: Made,
    major_frames: int,
    leak: str = "none",
    label: str = "the simulation",
) -> Run:
    """Simulate so many major frames of the tile that has the most slots."""
    system = made.system
    slots = major_frames * max(map(len, system.slots))
    cycles = system.start_cycle + slots * (system.user_slot_cycles + system.os_slot_cycles)
    tiles = len(system.slots)
    return run(folder, made.kernel, made.content, tiles, cycles, leak != "dma", label=label)


def _count(slot: Slot, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    slot.misses_fetch = after[2] - before[2]
    slot.misses_data = after[3] - before[3]
    slot.words_moved = after[6] - before[6]


def _mark(before: tuple[int, ...] | None, record: tuple[int, ...]) -> Mark:
    since = before or (0,) * len(record)
    misses = record[3] - since[2] + record[7] - since[3]
    cycle = record[4] | record[5] << 32
    return Mark(record[2], record[1], cycle, misses, record[6] - since[6])


def read(content: bytes) -> TileRun:
    """The slots and marks of a tile from its records."""
    found = TileRun()
    begun: tuple[int, ...] | None = None
    before: tuple[int, ...] | None = None
    first_cycle = 0
    calls: list[int] = []
    for record in RECORD.iter_unpack(content):
        channel, cycle = record[0], record[4] | record[5] << 32
        if channel == tile.CHANNEL_OWNER:
            if before is not None:
                _count(found.slots[-1], before, record)
            begun, before, first_cycle, calls = record, record, 0, []
        elif channel == tile.CHANNEL_RESUME and begun is not None and first_cycle == 0:
            first_cycle = cycle
        elif channel == tile.CHANNEL_TRAP and begun is not None:
            if record[1] & 0x3F == 0x27 or record[1] >> 31:
                owner_cycle = begun[4] | begun[5] << 32
                slept_cycle = owner_cycle - begun[7]
                is_gated = not found.slots or slept_cycle > found.slots[-1].last_cycle + TRAP_CYCLES
                found.slots.append(
                    Slot(
                        begun[1], owner_cycle, first_cycle, cycle, tuple(calls), begun[7], is_gated
                    )
                )
                found.slots[-1].is_idle = record[2] < tile.ADDRESS_WINDOW  # in the kernel
                begun = None
            else:
                calls.append(cycle)
                found.failures[begun[1]] = Failure(record[1], record[2], record[3], cycle)
        elif channel == tile.CHANNEL_MARK:
            found.marks.append(_mark(before, record))
        elif channel < 4:
            found.set_up.append((channel, record[1], record[2]))
            if channel == ALLOCATE:
                found.entries.append((record[1], record[3]))
            elif channel == LOAD:
                found.loaded.append((record[1], cycle))
    return found

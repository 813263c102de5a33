"""The systems `tile:…`: a heap, a unit in the MMU socket, and a configuration of the processor.

Simulator and program are built on first use and kept in the user's cache.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import config_format, tile_format
from tautochrone.targets.heaps import Heap, heaps
from tautochrone.tile import build
from tautochrone.tile.sources import root
from tautochrone.tile.units import described

PREFIX = "tile:"
PIPELINED = "pipelined"  # the validity array is as slow as the page table
PAGE_BITS = 18
WINDOW_ADDRESS = tile_format.ADDRESS_WINDOW
CONFIG_DEFAULT = "small"
# Cycles of the table memories. PARALLEL: as in the paper, the validity array is twice as
# fast as the page table, so a translation takes as long as the page table alone [P0-29].
LATENCIES_PARALLEL, LATENCIES_PIPELINED = (1, 1, 2), (1, 1, 1)
FOLDER = "targets/programs/replay"
PROGRAM_FILES = ("replay.c", "memory.c")
BUILD_COMMAND = "tau doctor --build"


@dataclass(frozen=True)
class Pair:
    """A heap and the unit in the MMU socket that it runs on; `name` follows the prefix."""

    name: str
    unit: str
    heap: Heap


PAIRS = tuple(
    Pair(name, unit, heap)
    for name, unit, heap in sorted(
        ((name, unit, heap) for heap in heaps().values() for name, unit in heap.tile.items()),
        key=lambda found: found[0],
    )
)


@dataclass(frozen=True)
class TileSystem:
    """A system on the tile: its name, the unit in the MMU socket, the processor's configuration.

    `latencies`: cycles of the table memories 0, 1 and 2.
    """

    name: str
    unit: str
    heap: Heap
    config: str
    latencies: tuple[int, int, int]


def parsed(name: str) -> tuple[Pair, list[str]] | None:
    """The heap and the unit of a system's name, and the words after it; None for other systems.

    Raises TauError (usage) for a word that is not a configuration.
    """
    first, *chosen = name.removeprefix(PREFIX).split(":")
    pair = next((each for each in PAIRS if each.name == first), None)
    if not name.startswith(PREFIX) or pair is None:
        return None
    if not set(chosen) <= {*config_format.CONFIGS, PIPELINED}:
        raise TauError(
            f"{PREFIX}{first} has no configuration {':'.join(chosen)!r}",
            f"append one of {', '.join(config_format.CONFIGS)}, or {PIPELINED}, or both",
            EXIT_USAGE,
        )
    return pair, chosen


def tile_system(name: str) -> TileSystem:
    """The system of this name. Raises TauError (usage) if it is not on the tile."""
    found = parsed(name)
    if found is None:
        known = ", ".join(PREFIX + pair.name for pair in PAIRS)
        raise TauError(f"{name!r} is not a system on the tile", f"use one of {known}", EXIT_USAGE)
    pair, chosen = found
    configs = [word for word in chosen if word != PIPELINED]
    latencies = LATENCIES_PIPELINED if PIPELINED in chosen else LATENCIES_PARALLEL
    config = configs[-1] if configs else CONFIG_DEFAULT
    return TileSystem(name, pair.unit, pair.heap, config, latencies)


def options_of(system: TileSystem) -> build.Options:
    """The simulator of a system. A unit that is told its latencies takes less time to simulate."""
    told: tuple[str, ...] = ()
    if described(system.unit).takes_latencies:
        told = tuple(f"Latency{i}={cycles}" for i, cycles in enumerate(system.latencies))
    return build.Options(
        unit=system.unit,
        config=system.config,
        page_bits=PAGE_BITS,
        latencies=system.latencies,
        unit_parameters=told,
    )


def simulator(
    system: TileSystem, may_build: bool = True, training: Sequence[str] | None = None
) -> Path | None:
    """The simulator of a system, built if needed; unless it may, None if it is missing.

    TRAINING is the command line of a run that is long enough to train the simulator with it.
    Raises TauError with the cause if the build fails.
    """
    label = f"the simulator of {system.name}"
    return build.simulator(options_of(system), may_build, label, training)


def buildable() -> None:
    """Raise TauError with the next step unless simulators and programs can be built here."""
    from tautochrone.machine.images import building
    from tautochrone.targets.build import compiler_of

    try:
        build.check_programs()
    except TauError as error:
        raise TauError(f"simulators cannot be built: {error.message}", error.next_step) from error
    with building():
        compiler_of("tile")


def program(system: TileSystem, assert_level: int = 0, check_level: int = 0) -> Path:
    """The ELF file that replays on a system, compiled if needed.

    With `assert_level` 1 or 2 the core's assertions are checked; a failed one stops the simulation.
    Raises TauError if the compiler is missing or fails.
    """
    from tautochrone.machine.images import building
    from tautochrone.targets.build import kept

    files = [f"{FOLDER}/{name}" for name in PROGRAM_FILES]
    files += system.heap.files
    has_bit_manipulation = config_format.CONFIGS[system.config]["bit_manipulation"]
    flags = flags_of(system, assert_level, check_level)
    name = f"replay-{system.heap.name}-{system.unit}"
    with building():
        return kept("tile-b" if has_bit_manipulation else "tile", name, root(), files, flags)


def flags_of(system: TileSystem, assert_level: int, check_level: int) -> list[str]:
    """Options of the compiler beyond the target's recipe."""
    return [
        *("-include", str(root() / FOLDER / "port.h")),
        f"-DTAU_SPACE_ORIGIN={WINDOW_ADDRESS:#x}u",
        f"-DTAU_ASSERT_LEVEL={assert_level}",
        f"-DTAU_CHECK_LEVEL={check_level}",
        f'-DTAU_REPLAY_SYSTEM="{FOLDER}/system_{system.heap.name}.h"',
        f"-DTAU_REPLAY_REGION_TLB={int('forget_region' in described(system.unit).registers)}",
    ]


def main() -> int:
    """Build every simulator and program, and print the paths; return 1 if a build fails."""
    failed = 0
    for name in (PREFIX + pair.name for pair in PAIRS):
        system = tile_system(name)
        try:
            print(f"{name}: {simulator(system)} --program {program(system)}", flush=True)
        except TauError as error:
            print(f"{name}: {error.message}; next: {error.next_step}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())

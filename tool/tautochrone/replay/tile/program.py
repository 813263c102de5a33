"""Builds what a replay on the tile needs: the simulator with its unit, and the program.

Both are built on first use and kept in the user's cache: the simulator by hw/build.py, the program
by targets/build.py. The package has the sources of both. A checkout uses those of the repository.
"""

from __future__ import annotations

import functools
import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tautochrone import native
from tautochrone.code.images import building
from tautochrone.console import output
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import config_format, tile_format
from tautochrone.replay.tile.units import PAIRS, PIPELINED, PREFIX, parsed
from tautochrone.targets.build import compiler_of, kept
from tautochrone.targets.heaps import Heap

PAGE_BITS = 18
WINDOW_ADDRESS = tile_format.ADDRESS_WINDOW
CONFIG_DEFAULT = "small"
# Cycles of the table memories. PARALLEL: as in the paper, those of the validity array are twice as
# fast as the page table, so a translation takes as long as the page table alone [P0-29].
LATENCIES_PARALLEL, LATENCIES_PIPELINED = (1, 1, 2), (1, 1, 1)
FOLDER = "targets/programs/replay"
PROGRAM_FILES = ("replay.c", "memory.c")
REPOSITORY = Path(__file__).resolve().parents[4]
BUILD_COMMAND = "tau doctor --build"


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


def tile_system(name: str) -> TileSystem:
    """The system of this name. Raises TauError (usage) if it is none on the tile."""
    found = parsed(name)
    if found is None:
        known = ", ".join(PREFIX + pair.name for pair in PAIRS)
        raise TauError(f"{name!r} is no system on the tile", f"use one of {known}", EXIT_USAGE)
    pair, chosen = found
    configs = [word for word in chosen if word != PIPELINED]
    latencies = LATENCIES_PIPELINED if PIPELINED in chosen else LATENCIES_PARALLEL
    config = configs[-1] if configs else CONFIG_DEFAULT
    return TileSystem(name, pair.unit, pair.heap, config, latencies)


def hardware_folder() -> Path:
    """The folder hw/ of the repository, else the package's, with core/ beside it.

    Raises TauError if this installation has none.
    """
    for base in (REPOSITORY, native.DIRECTORY):
        if (base / "hw/build.py").is_file() and (base / "core/vspace.c").is_file():
            return base / "hw"
    raise TauError(
        "the tile's sources are missing from this installation",
        "reinstall with `pipx install .`, or `make build`",
    )


@functools.cache
def build_module(hardware: Path) -> ModuleType:
    """Load build.py of the folder hw/, which is not part of this package."""
    package = ModuleType(f"tautochrone_hw_{str(hardware).encode().hex()}")
    package.__path__ = [str(hardware)]
    sys.modules[package.__name__] = package
    return importlib.import_module(f"{package.__name__}.build")


def unit_of(system: TileSystem) -> Any:
    """The unit of a system as hw/ describes it: a Unit of hw/units.py.

    Raises TauError if this installation has no hw/, or the description is invalid.
    """
    module = build_module(hardware_folder())
    try:
        return module.described(system.unit)
    except module.BuildError as error:
        raise TauError(f"the unit of {system.name} is not known: {error}") from error


def simulator(system: TileSystem, build: bool = True) -> Path | None:
    """The simulator of a system, built if needed; without `build`, None if it is missing.

    Raises TauError with the cause if the build fails.
    """
    module = build_module(hardware_folder())
    try:
        options = module.Options(
            unit=system.unit,
            config=system.config,
            page_bits=PAGE_BITS,
            latencies=system.latencies,
        )
        path: Path | None = module.simulator(options, build, output.note)
    except module.BuildError as error:
        raise TauError(
            f"the simulator of {system.name} cannot be built: {error}",
            error.next_step or "run `tau doctor` to see what is missing",
        ) from error
    return path


def buildable() -> None:
    """Raise TauError with the next step unless simulators and programs can be built here."""
    module = build_module(hardware_folder())
    try:
        module.check_programs()
    except module.BuildError as error:
        raise TauError(f"simulators cannot be built: {error}", error.next_step) from error
    with building():
        compiler_of("tile")


def program(system: TileSystem, assert_level: int = 0, check_level: int = 0) -> Path:
    """The ELF file that replays on a system, compiled if needed.

    With `assert_level` 1 or 2 the core's assertions are checked; a failed one stops the simulation.
    Raises TauError if the compiler is missing or fails.
    """
    root = hardware_folder().parent
    files = [f"{FOLDER}/{name}" for name in PROGRAM_FILES]
    files += system.heap.files
    target = "tile-b" if config_format.CONFIGS[system.config] else "tile"
    flags = flags_of(system, root, assert_level, check_level)
    with building():
        return kept(target, f"replay-{system.heap.name}-{system.unit}", root, files, flags)


def flags_of(system: TileSystem, root: Path, assert_level: int, check_level: int) -> list[str]:
    """Options of the compiler beyond the target's recipe."""
    unit = unit_of(system)
    return [
        *("-include", str(root / FOLDER / "port.h")),
        f"-DTAU_SPACE_ORIGIN={WINDOW_ADDRESS:#x}u",
        f"-DTAU_ASSERT_LEVEL={assert_level}",
        f"-DTAU_CHECK_LEVEL={check_level}",
        f'-DTAU_REPLAY_SYSTEM="{FOLDER}/system_{system.heap.name}.h"',
        f"-DTAU_REPLAY_REGION_TLB={int('forget_region' in unit.registers)}",
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

"""What a replay on the tile is made of: the simulator with its unit, and the program that runs.

Both are built when they are first asked for and kept in the user's cache directory: the simulator
by hw/build.py, the program beside the other images. The package carries the sources of both; in a
checkout those of the repository are taken.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tautochrone import native
from tautochrone.code.images import cache_directory, compiler_of
from tautochrone.console import output
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import tile_format
from tautochrone.files import kept_files
from tautochrone.replay.tile.units import PIPELINED, PREFIX, UNITS, parsed

PAGE_BITS = 18
WINDOW_ADDRESS = tile_format.ADDRESS_WINDOW
CONFIG_DEFAULT = "small"
# Cycles of the table memories. PARALLEL: those of the validity array are twice as fast as the page
# table, as the paper's; so a translation takes what the page table alone would [P0-29].
LATENCIES_PARALLEL, LATENCIES_PIPELINED = (1, 1, 2), (1, 1, 1)
COMPILE_FLAGS = (
    *("-mabi=ilp32", "-O2", "-std=c17", "-Wall", "-Wextra", "-Werror", "-ffreestanding"),
    *("-ffunction-sections", "-fdata-sections", "-fno-tree-loop-distribute-patterns"),
)
# No multilib is exactly rv32imc: without its folder named, the linker takes a 64-bit libgcc.
LIBRARY_FLAGS = ("-march=rv32im", "-mabi=ilp32")
START_FILES = ("crt0.S", "trap.c", "replay/replay.c", "replay/memory.c")
# By the heap of a unit's description.
CORE_FILES = {
    "page_heap": ("page_heap.c", "vspace.c", "region_tree.c", "validity.c"),
    "break_heap": ("break_heap.c", "pagetable.c"),
}
COMMON_FILES = ("tlsf.c", "frames.c")
REPOSITORY = Path(__file__).resolve().parents[4]
BUILD_COMMAND = "tau doctor --build"


@dataclass(frozen=True)
class TileSystem:
    """A system on the tile: its name, the unit in the MMU socket, the processor's configuration.

    `latencies`: cycles of the table memories 0, 1 and 2.
    """

    name: str
    unit: str
    config: str
    latencies: tuple[int, int, int]


def tile_system(name: str) -> TileSystem:
    """The system of this name. Raises TauError (usage) if it is none on the tile."""
    found = parsed(name)
    if found is None:
        known = ", ".join(PREFIX + unit.name for unit in UNITS)
        raise TauError(f"{name!r} is no system on the tile", f"use one of {known}", EXIT_USAGE)
    unit, chosen = found
    configs = [word for word in chosen if word != PIPELINED]
    latencies = LATENCIES_PIPELINED if PIPELINED in chosen else LATENCIES_PARALLEL
    return TileSystem(name, unit.name, configs[-1] if configs else CONFIG_DEFAULT, latencies)


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
    """build.py of the folder hw/, which is no part of this package."""
    package = ModuleType(f"tautochrone_hw_{str(hardware).encode().hex()}")
    package.__path__ = [str(hardware)]
    sys.modules[package.__name__] = package
    return importlib.import_module(f"{package.__name__}.build")


def unit_of(system: TileSystem) -> Any:
    """The unit of a system as hw/ describes it: a Unit of hw/units.py.

    Raises TauError if this installation has no hw/, or the description is wrong.
    """
    module = build_module(hardware_folder())
    try:
        return module.described(system.unit)
    except module.BuildError as error:
        raise TauError(f"the unit of {system.name} is not known: {error}") from error


def simulator(system: TileSystem, build: bool = True) -> Path | None:
    """The simulator for a system, built if need be; without `build` None if it is not there.

    Raises TauError with the cause if it cannot be built.
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
            error.next_step or "`tau doctor` says what is missing",
        ) from error
    return path


def buildable() -> None:
    """Raise TauError with the next step unless simulators and programs can be built here."""
    module = build_module(hardware_folder())
    try:
        module.check_programs()
    except module.BuildError as error:
        raise TauError(f"simulators cannot be built: {error}", error.next_step) from error
    compiler_of("rv32")


def program(system: TileSystem, assert_level: int = 0, check_level: int = 0) -> Path:
    """The ELF file that replays on a system, compiled if need be.

    With `assert_level` 1 or 2 the core's asserts are live: a failed one stops the simulation.
    Raises TauError if the compiler is missing or fails.
    """
    hardware = hardware_folder()
    root, software = hardware.parent, hardware / "tile/sw"
    compiler, unit = compiler_of("rv32"), unit_of(system)
    sources = [software / name for name in START_FILES]
    sources += [root / "core" / name for name in (*COMMON_FILES, *CORE_FILES[unit.heap])]
    bits = "_zba_zbb_zbs" if system.config.endswith("-b") else ""
    flags = [f"-march=rv32imc_zicsr{bits}", *COMPILE_FLAGS]
    flags += [f"-I{root}", f"-I{software}", "-include", str(software / "replay/port.h")]
    flags += [f"-DTAU_SPACE_ORIGIN={WINDOW_ADDRESS:#x}u", f"-DTAU_ASSERT_LEVEL={assert_level}"]
    flags += [f"-DTAU_CHECK_LEVEL={check_level}"]
    flags += [f"-DTAU_REPLAY_BREAK={int(unit.heap == 'break_heap')}"]
    flags += [f"-DTAU_REPLAY_REGION_TLB={int('forget_region' in unit.registers)}"]
    digest = hashlib.sha256("\0".join(flags).encode())
    digest.update(_run([compiler, "--version"]).encode())
    for source in sources:
        digest.update(_run([compiler, *flags, "-E", "-P", str(source)]).encode())
    digest.update((software / "tile.ld").read_bytes())
    kept = cache_directory() / f"tile-{system.unit}-{digest.hexdigest()[:32]}.elf"
    if not kept_files.is_whole(kept):
        library = _run([compiler, *LIBRARY_FLAGS, "-print-libgcc-file-name"]).strip()
        link = ["-nostdlib", "-Wl,--gc-sections", "-Wl,--build-id=none", "-T"]
        with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
            linked = Path(scratch) / "replay.elf"
            words = [compiler, *flags, *link, str(software / "tile.ld")]
            _run([*words, *map(str, sources), library, "-o", str(linked)])
            kept_files.keep(linked, kept)
    return kept


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise TauError("compiling the tile's program failed", said=done.stderr)
    return done.stdout


def main() -> int:
    """Build everything that replays run on, and print where it is; 1 if something cannot be."""
    failed = 0
    for name in (PREFIX + unit.name for unit in UNITS):
        system = tile_system(name)
        try:
            print(f"{name}: {simulator(system)} --program {program(system)}", flush=True)
        except TauError as error:
            print(f"{name}: {error.message}; next: {error.next_step}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""Compile a program for the tile, and run it on a simulator."""

import struct
from pathlib import Path

from tautochrone.targets.build import link
from tautochrone.tile import sources as tile_sources
from tautochrone.tile.build import Options, simulator
from tautochrone.tile.simulation import Simulation, simulate

ROOT = Path(__file__).resolve().parent.parent
HW, TARGETS = ROOT / "hw", ROOT / "targets"
TILE, SOCKET = HW / "tile", HW / "socket/rtl"
CYCLES_MAX = 20_000_000
# Also with the installed package, which does not contain the probe, simulators are built from here.
tile_sources.REPOSITORY = ROOT


def compiled(folder: Path, *sources: str | Path) -> Path:
    """Compile sources, relative to hw/tile (C or assembler), with the start-up code into an ELF."""
    program = folder / (Path(sources[0]).stem + ".elf")
    return link("tile", ROOT, [TILE / source for source in sources], program)


def run(
    options: Options,
    *words: object,
    commands: list[tuple[int, int, int, int]] | None = None,
    cycles_max: int = CYCLES_MAX,
    tiles: int = 1,
) -> Simulation:
    """Run the simulator of `options`, with so many tiles and with `words` on its command line.

    `commands` become the first tile's.
    """
    given = None
    if commands is not None:
        given = b"".join(struct.pack("<4I", *command) for command in commands)
    built = simulator(options)
    assert built is not None
    return simulate(built, words, cycles_max, given, tiles)

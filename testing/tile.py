"""Compile a program for the tile, run it on a simulator, and read what it said."""

from __future__ import annotations

import json
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hw.build import TILE, Options, simulator

COMPILER = "riscv64-unknown-elf-gcc"
# No multilib is exactly rv32imc: without its folder named, the linker takes a 64-bit libgcc.
MULTILIB = ("-march=rv32im", "-mabi=ilp32")
FLAGS = "-march=rv32imc_zicsr -mabi=ilp32 -O2 -ffreestanding -nostdlib"
FLAGS += " -std=c17 -Wall -Wextra -Werror"
RUN_SECONDS_MAX = 120
CYCLES_MAX = 20_000_000


@dataclass(frozen=True)
class Run:
    """What a simulation left: exit code, console, messages, summary and result records."""

    code: int
    console: str
    messages: str
    summary: dict
    results: list[tuple[int, ...]]

    @property
    def tile(self) -> dict:
        """Return the counters of the first tile."""
        return self.summary["tiles"][0]


def compiled(folder: Path, *sources: str) -> Path:
    """Compile sources of hw/tile (C or assembler) with the start-up code into an ELF."""
    program = folder / (Path(sources[0]).stem + ".elf")
    files = [TILE / "sw/crt0.S", TILE / "sw/trap.c", *(TILE / source for source in sources)]
    asked = [COMPILER, *MULTILIB, "-print-libgcc-file-name"]
    libgcc = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    line = [COMPILER, *FLAGS.split(), "-T", TILE / "sw/tile.ld", f"-I{TILE / 'sw'}"]
    subprocess.run([*line, *files, libgcc, "-o", program], check=True)
    return program


def run(
    folder: Path,
    options: Options,
    *words: object,
    commands: list[tuple[int, int, int, int]] | None = None,
    cycles_max: int = CYCLES_MAX,
) -> Run:
    """Run the simulator of `options` with `words` on its command line, in `folder`.

    `commands` become the first tile's; results are those of the first tile.
    """
    line = [str(simulator(options)), *map(str, words), "--cycles-max", str(cycles_max)]
    summary, results = folder / "summary.json", folder / "results.bin"
    summary.unlink(missing_ok=True)
    results.unlink(missing_ok=True)
    line += ["--summary", str(summary), "--results", str(results)]
    if commands is not None:
        given = folder / "commands.bin"
        given.write_bytes(b"".join(struct.pack("<4I", *command) for command in commands))
        line += ["--commands", str(given)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=RUN_SECONDS_MAX)
    return Run(
        code=done.returncode,
        console=done.stdout,
        messages=done.stderr,
        summary=json.loads(summary.read_text()) if summary.exists() else {},
        results=list(struct.iter_unpack("<8I", results.read_bytes())) if results.exists() else [],
    )

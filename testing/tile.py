"""Compile a program for the tile, run it on a simulator, and read its output."""

import json
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hw.build import HW, Options, simulator
from tautochrone.targets.build import link

ROOT = HW.parent
TARGETS = ROOT / "targets"
RUN_SECONDS_MAX = 300
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


def compiled(folder: Path, *sources: str | Path) -> Path:
    """Compile sources, relative to hw/tile (C or assembler), with the start-up code into an ELF."""
    program = folder / (Path(sources[0]).stem + ".elf")
    return link("tile", ROOT, [HW / "tile" / source for source in sources], program)


def run(
    folder: Path,
    options: Options,
    *words: object,
    commands: list[tuple[int, int, int, int]] | None = None,
    cycles_max: int = CYCLES_MAX,
) -> Run:
    """Run the simulator of `options` with `words` on its command line, in `folder`.

    `commands` become the first tile's, which also gives the results.
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

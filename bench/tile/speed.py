"""Tile-cycles a CPU second of the plain and of the trained simulator, with one tile and with four.

All tiles replay the same random actions. The simulators take turns, and each counts with the median
of its runs, so a ratio of two of them depends little on the machine's other work. CPU seconds do:
neighbors share its caches.
"""

import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.tile import synthetic
from tautochrone.replay import open_trace
from tautochrone.replay import tile as replay
from tautochrone.tile import build
from tautochrone.tile.simulation import simulate
from tautochrone.tile.systems import options_of, program, tile_system

SYSTEM = "tile:rtmmu"
TILES = (1, 4)
RUNS, ACTIONS = 3, 5_000
CYCLES_MAX = 1_000_000_000


def speed_rows() -> list[dict[str, Any]]:
    """A row for each simulator and number of tiles."""
    system = tile_system(SYSTEM)
    options = options_of(system)
    with tempfile.TemporaryDirectory() as folder:
        commands = Path(folder) / "commands.bin"
        commands.write_bytes(_commands(Path(folder)))
        words = ["--program", str(program(system))]
        simulators = {
            "plain": build.kept(options, True, None),
            "trained": build.kept(options, True, [*words, "--commands", str(commands)]),
        }
        found: dict[tuple[str, int], list[float]] = {}
        for _ in range(RUNS):
            for tiles in TILES:
                given = [*words, *["--commands", commands] * tiles]
                for kind, path in simulators.items():
                    assert path is not None
                    done = simulate(path, given, CYCLES_MAX, tiles=tiles)
                    assert done.code == 0, done.messages
                    each = tiles * float(done.summary["host"]["cycles_per_cpu_second"])
                    found.setdefault((kind, tiles), []).append(each)
    return [
        {
            "simulator": kind,
            "tiles": tiles,
            "tile_cycles_per_cpu_second": round(statistics.median(speeds)),
            "ratio_to_plain": round(
                statistics.median(speeds) / statistics.median(found["plain", tiles]), 3
            ),
        }
        for (kind, tiles), speeds in found.items()
    ]


def _commands(folder: Path) -> bytes:
    """The commands of a replay of random actions."""
    path = folder / "synthetic.tau"
    synthetic.write(path, synthetic.SEED, synthetic.events(synthetic.SEED, ACTIONS))
    trace = open_trace.open_trace_for_replay(path)
    operations = replay.operations_of(trace)
    commands, _ = replay.commands_of(operations, replay.sizes_before(operations), False)
    pages = replay.HEAP_PAGES_MAX
    slots = int(trace.facts.slots_count)
    start = np.array([[replay.form.OP_START, slots, pages, pages]], np.uint32)
    return np.concatenate([start, commands]).astype("<u4").tobytes()

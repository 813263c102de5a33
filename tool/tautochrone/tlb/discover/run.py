"""What `tau tlb discover` does: chooses a processor, and runs the procedure on it."""

import json
import os
import signal
import subprocess
import sys
from typing import Any

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.tlb.discover.document import document_of
from tautochrone.tlb.discover.meter import Limit
from tautochrone.tlb.discover.procedure import discover
from tautochrone.tlb.discover.processors.simulated import SimulatedProcessor
from tautochrone.tlb.discover.processors.tile import Tile
from tautochrone.tlb.simulate import geometry_or_shape
from tautochrone.tlb.tile.shape import Shape, parsed

HOST, TILE = "host", "tile:"
TILE_LATENCY = 16  # so that a walk costs more than an answer of the second level
WALL_MULTIPLE, WALL_SECONDS = 20, 60  # times the CPU seconds, plus this: others run as well
LIMIT_STEP = "raise the limit of CPU time (ulimit -t) or of memory (the cgroup's); run it again"
LIMIT_SIGNALS = (signal.SIGKILL, signal.SIGXCPU)
OTHER_STEP = "describe the TLB in a geometry file (docs/tutorials/tlb-sets.md)"


def discovered_host(cpu: int | None, seed: int, cpu_seconds_max: float) -> dict[str, Any]:
    """The document of this machine. Raises TauError if nothing can be measured."""
    allowed = sorted(os.sched_getaffinity(0))
    chosen = allowed[-1] if cpu is None else cpu
    if chosen not in allowed:
        raise TauError(
            f"CPU {chosen} is not one of those that this process may use",
            f"use one of {', '.join(map(str, allowed))}",
            EXIT_USAGE,
        )
    command = [sys.executable, "-m", "tautochrone.tlb.discover.processors.worker"]
    command += [str(chosen), str(seed), str(cpu_seconds_max)]
    seconds = WALL_SECONDS + WALL_MULTIPLE * cpu_seconds_max
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="backslashreplace", timeout=seconds
        )
    except subprocess.TimeoutExpired as error:
        cause = f"discovery took more than {seconds:g} s"
        raise TauError(cause, "run it on an idle CPU") from error
    if done.returncode != 0:
        cause = f"discovery ended {_ending(done.returncode)}"
        step = LIMIT_STEP if -done.returncode in LIMIT_SIGNALS else OTHER_STEP
        raise TauError(cause, step, said=done.stderr)
    result = json.loads(done.stdout)
    if "error" in result:
        raise TauError(result["error"], result["next_step"] or OTHER_STEP)
    return {**result["document"], "cpu": chosen}


def discovered_simulation(name: str, policy: str, seed: int, walks_max: int) -> dict[str, Any]:
    """The document of a simulated processor: a known geometry, a file, a shape, or the tile."""
    if name.startswith(TILE):
        shape = parsed(name.removeprefix(TILE), policy, TILE_LATENCY)
        return discovered_tile(shape, seed, walks_max)
    with SimulatedProcessor(geometry_or_shape(name), policy, seed) as processor:
        return document_of(discover(processor, seed, Limit(walks=walks_max)), processor.facts)


def discovered_tile(shape: Shape, seed: int, walks_max: int) -> dict[str, Any]:
    """The document of the simulated tile."""
    with Tile(shape, seed) as tile:
        return document_of(discover(tile, seed, Limit(walks=walks_max)), tile.facts)


def _ending(status: int) -> str:
    if status < 0:
        return f"by signal {signal.Signals(-status).name}"
    return f"with exit status {status}"

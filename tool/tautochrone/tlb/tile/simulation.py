"""Runs a system of tasks on the simulated tile."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tautochrone.errors import TauError
from tautochrone.replay.tile.program import hardware_folder
from tautochrone.tlb.tile.code import Builder
from tautochrone.tlb.tile.records import Records, read
from tautochrone.tlb.tile.shape import Shape
from tautochrone.tlb.tile.system import PAGE_BYTES, System

BOOT_CYCLES_MAX = 4_000_000  # more than all warm-ups take, and the boot without heaps
HEAP_PAGE_CYCLES_MAX = 4000  # more than a heap takes per page of its window: indices are computed
CYCLE_LIMIT = 3  # the simulator's exit status (hw/tile/sim/main.cpp)
CYCLES_PER_SECOND_MIN = 100_000  # of a simulator on a machine that others use


def builder(folder: Path) -> Builder:
    """A builder of several systems in one folder."""
    return Builder(hardware_folder().parent, folder)


def _boot_cycles_max(system: System) -> int:
    heaps = (task.place.heap for task in system.tasks)
    pages = sum(heap.window.size_bytes // PAGE_BYTES for heap in heaps if heap is not None)
    return BOOT_CYCLES_MAX + HEAP_PAGE_CYCLES_MAX * pages


def simulate(system: System, shape: Shape, builder: Builder) -> Records:
    """Build and run. Raises TauError if the kernel stops, or the simulator cannot be run."""
    return simulated(builder.program(system), system, shape, builder)


def simulated(program: Path, system: System, shape: Shape, builder: Builder) -> Records:
    """Run the built program of a system, as `simulate` does."""
    results = builder.folder / "results.bin"
    cycles_max = _boot_cycles_max(system) + system.run_cycles
    line = [str(shape.simulator()), "--program", str(program), "--results", str(results)]
    line += ["--cycles-max", str(cycles_max), "--parent", str(os.getpid())]
    seconds = 60 + cycles_max // CYCLES_PER_SECOND_MIN
    try:
        done = subprocess.run(
            line, capture_output=True, text=True, errors="backslashreplace", timeout=seconds
        )
    except subprocess.TimeoutExpired as error:
        raise TauError(f"the simulation took more than {seconds} s") from error
    if done.returncode == CYCLE_LIMIT:
        raise TauError(
            f"the boot and the warm-ups took more than {_boot_cycles_max(system):,} cycles",
            "let each task call tau_task_wait after its warm-up",
        )
    if done.returncode != 0:
        said = (done.stdout.splitlines() or done.stderr.splitlines() or ["without a message"])[-1]
        raise TauError(f"the tile stopped: {said}", said=done.stdout + done.stderr)
    return read(results.read_bytes())

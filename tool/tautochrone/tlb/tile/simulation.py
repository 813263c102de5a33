"""Runs a system of tasks on the simulated tile."""

from __future__ import annotations

from pathlib import Path

from tautochrone.errors import EXIT_LIMIT_EXCEEDED, TauError
from tautochrone.replay.tile.program import hardware_folder
from tautochrone.replay.tile.progress import run_whole
from tautochrone.tlb.tile.code import Builder
from tautochrone.tlb.tile.records import Records, read
from tautochrone.tlb.tile.shape import Shape
from tautochrone.tlb.tile.system import PAGE_BYTES, System

BOOT_CYCLES_MAX = 1_000_000  # more than the boot takes without heaps
WARM_UP_CYCLES_MAX = 4_000_000  # of all tasks together, unless the user says another number
HEAP_PAGE_CYCLES_MAX = 4000  # more than a heap takes per page of its window: indices are computed
CYCLE_LIMIT = 3  # the simulator's exit status (hw/tile/sim/main.cpp)
CYCLES_PER_SECOND_MIN = 10_000  # of a simulator on a slow machine that many others use


def builder(folder: Path) -> Builder:
    """A builder of several systems in one folder."""
    return Builder(hardware_folder().parent, folder)


def _boot_cycles_max(system: System) -> int:
    heaps = (task.place.heap for task in system.tasks)
    pages = sum(heap.window.size_bytes // PAGE_BYTES for heap in heaps if heap is not None)
    return BOOT_CYCLES_MAX + HEAP_PAGE_CYCLES_MAX * pages


def _check_warm_ups(system: System, found: Records, cycles_max: int, is_cut: bool) -> None:
    """Refuse warm-ups that took too long together; `is_cut`: the simulator ended the run."""
    warm = {job.task: job.cycles for job in found.jobs if job.number == 0}
    stopped = {fault.task for fault in found.faults}
    spent, before = 0, ""
    for number, task in enumerate(system.tasks):
        spent += warm.get(number, 0)
        is_endless = is_cut and number not in warm and number not in stopped
        if is_endless or spent > cycles_max:
            raise TauError(
                f"the warm-up of {task.name} takes too long: all warm-ups together may take"
                f" {cycles_max:,} cycles{before}",
                "let it call tau_task_wait after its warm-up, or raise --warm-up-cycles",
                EXIT_LIMIT_EXCEEDED,
            )
        if number in warm:
            before += f", {task.name} took {warm[number]:,}"


def simulate(system: System, shape: Shape, builder: Builder) -> Records:
    """Build and run. Raises TauError if the kernel stops, or the simulator cannot be run."""
    return simulated(builder.program(system), system, shape, builder)


def simulated(
    program: Path,
    system: System,
    shape: Shape,
    builder: Builder,
    warm_up_cycles_max: int = WARM_UP_CYCLES_MAX,
) -> Records:
    """Run the built program of a system, as `simulate` does."""
    results = builder.folder / "results.bin"
    cycles_max = _boot_cycles_max(system) + warm_up_cycles_max + system.run_cycles
    line = [str(shape.simulator()), "--program", str(program), "--results", str(results)]
    line += ["--cycles-max", str(cycles_max)]
    done = run_whole(line, "the simulation", 60 + cycles_max // CYCLES_PER_SECOND_MIN)
    if done.returncode == CYCLE_LIMIT:
        _check_warm_ups(system, read(results.read_bytes()), warm_up_cycles_max, is_cut=True)
        raise TauError("the kernel went on behind the end of the run")
    if done.returncode != 0:
        said = (done.stdout.splitlines() or done.stderr.splitlines() or ["without a message"])[-1]
        raise TauError(f"the tile stopped: {said}", said=done.stdout + done.stderr)
    found = read(results.read_bytes())
    _check_warm_ups(system, found, warm_up_cycles_max, is_cut=False)
    return found

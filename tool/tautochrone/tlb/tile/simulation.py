"""Runs a system of tasks on the simulated tile."""

from __future__ import annotations

from pathlib import Path

from tautochrone.errors import EXIT_LIMIT_EXCEEDED, TauError
from tautochrone.facts import tile_format
from tautochrone.tile.simulation import simulate as run_simulator
from tautochrone.tile.sources import root
from tautochrone.tlb.tile.code import Builder
from tautochrone.tlb.tile.records import Records, read
from tautochrone.tlb.tile.shape import Shape
from tautochrone.tlb.tile.system import PAGE_BYTES, System

BOOT_CYCLES_MAX = 1_000_000  # more than the boot takes without heaps
WARM_UP_CYCLES_MAX = 4_000_000  # of all tasks together, unless the user says another number
HEAP_PAGE_CYCLES_MAX = 4000  # more than a heap takes per page of its window: indices are computed


def builder(folder: Path) -> Builder:
    """A builder of several systems in one folder."""
    return Builder(root(), folder)


def _boot_cycles_max(system: System) -> int:
    pages = sum(task.place.heap_window_bytes // PAGE_BYTES for task in system.tasks)
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
    cycles_max = _boot_cycles_max(system) + warm_up_cycles_max + system.run_cycles
    done = run_simulator(shape.simulator(), ["--program", program], cycles_max)
    if done.code == tile_format.END_CYCLE_LIMIT:
        _check_warm_ups(system, read(done.records()), warm_up_cycles_max, is_cut=True)
        raise TauError("the kernel went on after the end of the run")
    if done.code != tile_format.END_PASSED:
        lines = done.console.splitlines() or done.messages.splitlines() or ["without a message"]
        raise TauError(f"the tile stopped: {lines[-1]}", said=done.console + done.messages)
    found = read(done.records())
    _check_warm_ups(system, found, warm_up_cycles_max, is_cut=False)
    return found

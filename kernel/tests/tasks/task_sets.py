"""Common parts of tests of task sets: the paper's synthetic tasks, and systems of walkers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tautochrone.tlb.geometry import Geometry
from tautochrone.tlb.partition import Principal
from testing import placing
from tautochrone.tlb.tile.system import System, TileTask

ROOT = Path(__file__).resolve().parents[3]
WALKER = ROOT / "kernel/systems/tasks/walker.c"
ACCESS_CYCLES = 12.03  # Per access of a walker, with its share of the walk, on `small`.
OBJECT_BYTES = 3000  # One per page; the first page also has the control block.
KERNEL_SETS = (0,)
# What a file of tasks begins with.
HEAD = """\
format = "tautochrone tasks"
version = 1
[kernel]
colored = true
stack_bytes = 4096
data_bytes = 4096
code_bytes = 0
"""


def walker_arguments(
    objects: int, walked: int, cycles: float, choice: int = 0, object_bytes: int = OBJECT_BYTES
) -> tuple[int, ...]:
    """A job of so many cycles."""
    walks = max(1, round(cycles / (walked * ACCESS_CYCLES)))
    return objects, object_bytes, walked, choice, walks


def walker(
    name: str,
    period: int,
    phase: int,
    arguments: tuple[int, ...],
    place: Principal,
) -> TileTask:
    """A task that walks pages."""
    return TileTask(name, period, phase, WALKER, arguments, place)


def system(
    geometry: Geometry,
    tasks: Sequence[TileTask],
    run_cycles: int,
    kernel_sets: Sequence[int] = KERNEL_SETS,
    **more: object,
) -> System:
    """A system whose kernel has pages in these sets of the first level."""
    owned = placing.sets_of(geometry, kernel_sets)
    state, stack = placing.kernel_pages(geometry, owned)
    return System(geometry, tuple(tasks), state, stack, run_cycles, **more)

"""A hostile task tries everything that it was not granted, next to a task that may never miss.

Method: every kind of page, device and register by every kind of access (hostile_ways.py), one in
each life of a task that restarts. Each ends with its cause, and none with a result. The innocent
task's sets are full; it checks its memory in each job. On a kernel whose pages are all shared, the
innocent task misses.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernel.tests.tasks.hostile_ways import (
    CALL,
    HOSTILE,
    INNOCENT,
    Way,
    access,
    ways,
    write_program,
)
from kernel.tests.tasks.task_sets import ROOT, system
from tautochrone.errors import TauError
from tautochrone.tlb.partition import CODE
from tautochrone.tlb.tile import shape, simulation
from tautochrone.tlb.tile.simulation import Records
from tautochrone.tlb.tile.system import PAGE_BYTES, System, TileTask
from testing import placing
from testing.changed_kernels import ONE_HEAP, Change, ChangedBuilder

TLB = shape.parsed("16x4")
GEOMETRY = TLB.geometry()
PERIOD = 6_000
WAYS_MIN = 150
SETS = (2, 3, 5), (7, 8)  # no two parts of the hostile task are adjacent
HEAP_PAGES = 6  # with globals and stack, both sets of the innocent task are full
NOTHING = [Way("call", "call(0);", CALL)]
ALL_READ = ONE_HEAP[1], Change("memory.c", "| rights);", "| rights | TAU_TILE_READ);")
STORES_CODE = Change(
    "scheduler.c",
    "static struct tau_context *dispatch(struct tau_tasks_state *state) {\n",
    "static struct tau_context *dispatch(struct tau_tasks_state *state) {\n"
    "    *(volatile uint32_t *)TAU_TILE_ADDRESS_INSTR = 0;\n",
)


def two(hostile: Path, count: int, restarts: bool = True) -> System:
    """The hostile task, so that it lives COUNT times, and the innocent one."""
    programs = hostile, ROOT / "kernel/tests/tasks/innocent.c"
    tasks = []
    for number, program in enumerate(programs):
        own = placing.sets_of(GEOMETRY, SETS[number])
        pages = HEAP_PAGES * number or 1
        place = placing.place(
            GEOMETRY, number + 1, own, heap_pages=pages, mode="no-miss", code_pages=2
        )
        arguments = pages, 3000
        task = TileTask(f"t{number}", PERIOD, 3000 * number, program, arguments, place)
        tasks.append(replace(task, restarts=restarts))
    return system(GEOMETRY, tasks, PERIOD * (count + 2))


def tried(
    folder: Path, chosen: list[Way] | None = None, *changes: Change, restarts: bool = True
) -> tuple[list[Way], Records]:
    """Run these ways, or all."""
    program = folder / "hostile.c"
    program.touch()
    found = chosen or list(ways(two(program, 0)))
    write_program(program, found)
    made = two(program, len(found), restarts)
    return found, simulation.simulate(made, TLB, ChangedBuilder(folder, *changes))


def innocent_misses(found: Records) -> int:
    """Misses of its jobs after the warm-up."""
    return sum(sum(job.misses) for job in found.of(INNOCENT) if job.number > 0)


def test_no_way_leads_anywhere(tmp_path: Path) -> None:
    """Each is stopped with its cause, in its page. The innocent task keeps its values, its time and
    its translations."""
    all_ways, found = tried(tmp_path)
    assert len(all_ways) >= WAYS_MIN
    reached = [all_ways[job.value - 1].name for job in found.of(HOSTILE) if job.value]
    assert reached == []
    for way, fault in zip(all_ways, found.faults, strict=True):
        assert (fault.task, fault.cause) == (HOSTILE, way.cause), way
        assert way.page is None or fault.address // PAGE_BYTES == way.page, way
    jobs = found.of(INNOCENT)
    assert [job.number for job in jobs] == list(range(len(all_ways) + 3))
    assert {job.value for job in jobs} == {0}
    assert innocent_misses(found) == 0
    assert found.cross_evictions == 0


def test_a_task_without_restarts_is_stopped_for_good(tmp_path: Path) -> None:
    """In its first job. The other one goes on, on time."""
    _, found = tried(tmp_path, NOTHING * 5, restarts=False)
    assert [(fault.task, fault.cause) for fault in found.faults] == [(HOSTILE, CALL)]
    assert [len(found.of(task)) for task in (HOSTILE, INNOCENT)] == [1, 8]


@pytest.mark.parametrize("is_shared", [False, True])
def test_anothers_code_is_not_read(tmp_path: Path, is_shared: bool) -> None:
    """The same load in ten lives is refused. Where all may read everything, it takes a way of the
    innocent task, which misses."""
    load = access("load", "code of another", two(tmp_path, 0).tasks[INNOCENT].run_of(CODE).start)
    _, found = tried(tmp_path, [load] * 10, *(ALL_READ if is_shared else ()))
    assert len(found.faults) == (0 if is_shared else 10)
    assert (found.cross_evictions > 0) == (innocent_misses(found) > 0) == is_shared


@pytest.mark.parametrize("is_locked", [True, False])
def test_the_kernel_cannot_write_its_code(tmp_path: Path, is_locked: bool) -> None:
    """A store to the bank after the boot is an exception of the kernel, which ends the run."""
    lock = "    tau_tile_write(TAU_TILE_REGISTER_LOCK, 0);\n"
    changes = [STORES_CODE] if is_locked else [STORES_CODE, Change("main.c", lock, "")]
    if not is_locked:
        assert tried(tmp_path, NOTHING, *changes)[1].of(INNOCENT)
        return
    with pytest.raises(TauError, match="fault inside the fault handler"):
        tried(tmp_path, NOTHING, *changes)

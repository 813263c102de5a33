"""Tasks whose code takes three pages, in several runs of the pages of few sets.

With code in one run, three pages need three sets; in three runs they are ways of one set. The
promise, no miss after the warm-up, is the plan's and is compared by `tau tlb run`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tautochrone.errors import TauError
from tautochrone.tlb.partition import CODE
from tautochrone.tlb.planning.planner import Planned, plan_partition
from tautochrone.tlb.run import Choice, run
from tautochrone.tlb.tasks import KERNEL, TaskSet, read_tasks
from tautochrone.tlb.tile import shape
from tautochrone.tlb.tile.simulation import builder

from kernel.tests.tasks.task_sets import HEAD, ROOT

PROGRAM = ROOT / "kernel/tests/tasks/three_pages.c"
STEPS = 700 * (1 + 2 + 3)  # of a job
TASK = """\
[[task]]
name = "t{number}"
period_cycles = {period}
program = "{program}"
heap_bytes = 4096
stack_bytes = 4096
globals_bytes = 4096
code_bytes = {code}
mode = "no-miss"
"""
ONE_SET = '[[task.sets]]\narray = "instructions"\ncount = 1\n'
RUN_CYCLES = 400_000


def planned(folder: Path, count: int, text: str, more: str, code: int) -> tuple[TaskSet, Planned]:
    """So many tasks, and their plan for a shape."""
    path = folder / "tasks.toml"
    rows = (
        TASK.format(number=number, period=period, program=PROGRAM, code=code) + more
        for number, period in enumerate(range(120_000, 120_000 + 1000 * count, 1000))
    )
    path.write_text(HEAD + "".join(rows), encoding="utf-8")
    tasks = read_tasks(path)
    return tasks, plan_partition(tasks, shape.parsed(text).geometry())


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (15, "16x4"),
        pytest.param(12, "32x4", marks=pytest.mark.slow),
        pytest.param(15, "64x4", marks=pytest.mark.slow),
    ],
)
def test_nobody_misses(tmp_path: Path, count: int, text: str) -> None:
    """All values are right, and no job after the warm-up misses."""
    tasks, plan = planned(tmp_path, count, text, "code_run_bytes = 4000\n", 16384)
    assert plan.misfits == ()
    places = [each for each in plan.partition.principals if each.name != KERNEL]
    assert {len(each.runs_of(CODE)) for each in places} == {4}
    tlb = shape.parsed(text)
    found = run(tasks, plan.partition, tlb, Choice(RUN_CYCLES), builder(tmp_path))
    assert (found["stopped"], found["exceeded"]) == ([], [])
    jobs = [job for job in found["jobs"] if job["number"] > 0]
    assert len(jobs) >= 3 * count
    assert {job["misses"] for job in jobs} == {0}
    assert all(job["value"] == STEPS * (job["number"] + 1) for job in jobs)
    assert found["evictions"] == {"own": 0, "cross": 0}


def test_in_one_run_they_do_not_fit(tmp_path: Path) -> None:
    """Without code_run_bytes, twelve tasks in 32 sets have no three adjacent pages each."""
    _, plan = planned(tmp_path, 12, "32x4", "", 12288)
    assert "adjacent pages of its code" in plan.misfits[0].cause


def test_a_function_larger_than_a_run_is_named(tmp_path: Path) -> None:
    """The linker puts what fits nowhere into the last run, whose size is told."""
    tasks, plan = planned(tmp_path, 1, "16x4", "code_run_bytes = 2000\n" + ONE_SET, 8192)
    with pytest.raises(TauError, match="the code of t0 need .* in the last of 2 runs"):
        run(tasks, plan.partition, shape.parsed("16x4"), Choice(RUN_CYCLES), builder(tmp_path))

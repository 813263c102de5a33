"""Responses of random task sets stay below their bounds, with and without sets of their own.

Tasks have random periods, pages and costs. C is what a task's job takes alone, colored. All are
released at the start, which is the worst moment.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest
from tautochrone.tlb.planning.planner import plan_partition
from tautochrone.tlb.run import Choice, run
from tautochrone.tlb.tasks import TaskSet, read_tasks
from tautochrone.tlb.tile import shape
from tautochrone.tlb.tile.simulation import builder

from kernel.tests.tasks.task_sets import HEAD, WALKER, walker_arguments

SEED, SETS = 11, 10
UTILIZATION = 0.5
TLB = shape.parsed("16x4", latency=6)


def random_set(folder: Path, chance: random.Random) -> TaskSet:
    """Three to six walkers that use half of the time together."""
    text = HEAD
    count = chance.randrange(3, 7)
    for number in range(count):
        period = round(60_000 * 2 ** (3 * chance.random()))
        pages = chance.randrange(1, 5)
        arguments = walker_arguments(pages, pages, UTILIZATION * period / count)
        text += f"""\
[[task]]
name = "t{number}"
period_cycles = {period}
program = "{WALKER}"
arguments = {list(arguments)}
heap_bytes = {4096 * pages}
stack_bytes = 4096
globals_bytes = 4096
code_bytes = 4096
mode = "no-miss"
"""
    path = folder / "tasks.toml"
    path.write_text(text)
    return read_tasks(path)


def with_costs(tasks: TaskSet, folder: Path) -> TaskSet:
    """The set with what each task's first job takes alone."""
    found = []
    for task in tasks.tasks:
        alone = replace(tasks, tasks=(task,))
        planned = plan_partition(alone, TLB.geometry())
        done = run(alone, planned.partition, TLB, Choice(task.period_cycles), builder(folder))
        cost = max(job["cycles"] for job in done["jobs"] if job["number"] > 0)
        found.append(replace(task, cost_cycles=cost))
    return replace(tasks, tasks=tuple(found))


def ratios(tasks: TaskSet, folder: Path, uncolored: bool) -> list[float]:
    """Bound by longest response, of each task that has a bound."""
    planned = plan_partition(tasks, TLB.geometry(), uncolored)
    assert planned.misfits == ()
    cycles = 2 * max(task.period_cycles for task in tasks.tasks)
    done = run(tasks, planned.partition, TLB, Choice(cycles), builder(folder))
    found = []
    for task in tasks.tasks:
        jobs = [job for job in done["jobs"] if job["task"] == task.name and job["number"] > 0]
        bound = jobs[0]["bound_cycles"]
        if bound is not None:
            response = max(job["response_cycles"] for job in jobs)
            assert response <= bound, (task, response, bound)
            found.append(bound / response)
    return found


@pytest.mark.slow
def test_bounds_hold(tmp_path: Path) -> None:
    """Colored and uncolored. Colored, they are near."""
    chance = random.Random(SEED)
    colored: list[float] = []
    for _ in range(SETS):
        tasks = with_costs(random_set(tmp_path, chance), tmp_path)
        colored += ratios(tasks, tmp_path, False)
        ratios(tasks, tmp_path, True)
    assert len(colored) >= 3 * SETS
    assert median(colored) <= 1.3

"""What a switch does to the MMU, and what forgetting would do, on the same tasks and scheduler.

A task of low priority is preempted by one that walks one page, or all pages that it has.
Forgetting makes the misses of the first the same next to both; colors make them 0. Without either
they depend on the neighbor.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from kernel.tests.tasks.task_sets import system, walker, walker_arguments
from tautochrone.tlb.tile import shape, simulation
from testing import placing
from testing.changed_kernels import FORGETTING, ChangedBuilder

MS = 5_000
PAGES = 8
SETS = (range(1, 5), range(5, 9))
ANY_SETS = range(16)
PREEMPTIONS = 8


class Counts(NamedTuple):
    """Misses and cycles of the preempted task's jobs, and cycles of switches to another task."""

    misses: tuple[int, ...]
    cycles: tuple[int, ...]
    switch_cycles: tuple[int, ...]


def run(builder: ChangedBuilder, colored: bool, forgets: bool, neighbor_walks: int) -> Counts:
    """Three jobs of the preempted task after its warm-up."""
    tlb = shape.parsed("16x4", latency=2)  # as of other tests, which build its simulator too
    geometry = tlb.geometry()
    places = [
        placing.place(geometry, number + 1, placing.sets_of(geometry, own), heap_pages=PAGES)
        for number, own in enumerate(SETS if colored else (ANY_SETS, ANY_SETS))
    ]
    tasks = [
        walker("t1", 2 * MS, MS, walker_arguments(PAGES, neighbor_walks, 800), places[0]),
        walker("t2", 40 * MS, 0, walker_arguments(PAGES, PAGES, 10 * MS), places[1]),
    ]
    kernel_sets = (0,) if colored else ANY_SETS
    made = system(geometry, tasks, 120 * MS, kernel_sets, is_joint=colored)
    builder.changes = (FORGETTING,) * forgets
    found = simulation.simulate(made, tlb, builder)
    jobs = [job for job in found.of(1) if job.number > 0]
    assert len(jobs) == 3
    switches = {each.cycles for each in found.entries if each.before != each.task}
    return Counts(
        tuple(job.first_level_misses for job in jobs),
        tuple(job.cycles for job in jobs),
        tuple(sorted(switches)),
    )


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[bool, bool, int], Counts]:
    """By colored, forgets and the pages that the neighbor walks."""
    builder = ChangedBuilder(tmp_path_factory.mktemp("switch"))
    return {
        (colored, forgets, walks): run(builder, colored, forgets, walks)
        for colored, forgets in ((True, False), (False, True), (False, False))
        for walks in (1, PAGES)
    }


def test_colors_make_the_neighbor_vanish(
    counts: dict[tuple[bool, bool, int], Counts],
) -> None:
    """No miss, and the same cycles next to both."""
    quiet, busy = (counts[True, False, walks] for walks in (1, PAGES))
    assert set(quiet.misses + busy.misses) == {0}


def test_forgetting_makes_all_neighbors_alike(
    counts: dict[tuple[bool, bool, int], Counts],
) -> None:
    """The same misses next to both, all pages at each preemption."""
    quiet, busy = (counts[False, True, walks] for walks in (1, PAGES))
    assert quiet.misses == busy.misses
    assert min(quiet.misses) > PAGES


def test_without_either_the_neighbor_shows(
    counts: dict[tuple[bool, bool, int], Counts],
) -> None:
    """More misses next to the one that walks more pages."""
    quiet, busy = (counts[False, False, walks] for walks in (1, PAGES))
    assert sum(busy.misses) > sum(quiet.misses)


def test_forgetting_makes_a_switch_longer(
    counts: dict[tuple[bool, bool, int], Counts],
) -> None:
    """By one store, and by the kernel's own pages, which it loads again."""
    color, forget = counts[True, False, PAGES], counts[False, True, PAGES]
    assert 0 < max(forget.switch_cycles) - max(color.switch_cycles) < 30

"""Bounds of misses and response times: never below what a simulation of every cycle shows."""

import itertools
import os
import random
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from model.tlb_color import response as naive
from tautochrone.errors import TauError
from tautochrone.tlb.geometry import known_geometry
from tautochrone.tlb.planning.planner import plan_partition
from tautochrone.tlb.response import (
    EntryCycles, Machine, PeriodicTask, Response, responses, responses_in, timings_of
)
from tautochrone.tlb.tasks import read_tasks
from tool.tests.tlb.task_files import ON_TILE

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
TASK_SETS = 1000
WAYS = (4, 2)
SETS = (4, 2)
FREE = EntryCycles(0, 0, 0)


def bounds_of(
    tasks: Sequence[naive.Task], machine: naive.Machine, grouped: range = range(0)
) -> list[Response]:
    """The bounds of the model's tasks, of which some use the same sets in turn."""
    counted = [Counter(entry[:2] for entry in each.entries) for each in tasks]
    periodic = [
        PeriodicTask(
            str(number), each.period, each.cost, entries, "group" if number in grouped else None
        )
        for number, (each, entries) in enumerate(zip(tasks, counted, strict=True))
    ]
    kernel = Counter(entry[:2] for entry in machine.kernel)
    entry = EntryCycles(machine.release, machine.call, machine.reading)
    return responses(periodic, Machine(machine.miss, entry, machine.ways, kernel))


def expect_bounded(
    tasks: Sequence[naive.Task], machine: naive.Machine, cycles: int, grouped: range = range(0)
) -> list[float]:
    """No job takes longer or misses more than its bound. Bound ÷ longest response, per task."""
    ratios = []
    bounds = bounds_of(tasks, machine, grouped)
    jobs = naive.simulate(tasks, machine, cycles)
    for number, bound in enumerate(bounds):
        if bound.response_cycles is None:
            continue
        assert bound.misses is not None and bound.first_misses is not None
        context = f"seed {SEED}, task {number} of {tasks} on {machine}: {bound}"
        longest = 0
        for job in (each for each in jobs if each.task == number):
            if job.release + bound.response_cycles >= cycles:
                continue  # it may end after the simulation
            assert job.end is not None, context
            longest = max(longest, job.end - job.release)
            first = bound.first_misses if job.number == 0 else 0
            assert job.misses <= bound.misses + first, (context, job)
        assert longest <= bound.response_cycles, context
        if longest:
            ratios.append(bound.response_cycles / longest)
    return ratios


def random_entries(dice: random.Random, is_colored: bool, number: int) -> list[naive.Entry]:
    """Entries that fit in their sets; colored, only in sets of the task's own."""
    found = []
    for array, (sets, ways) in enumerate(zip(SETS, WAYS, strict=True)):
        own = [number % sets] if is_colored and number < sets else range(sets)
        for index in own if number < sets or not is_colored else ():
            found += [(array, index, each) for each in range(dice.randint(0, ways))]
    dice.shuffle(found)
    return found


def random_set(dice: random.Random) -> tuple[list[naive.Task], naive.Machine]:
    """Up to five tasks of 30 to 90 % utilization without misses, and a machine."""
    count = dice.randint(1, 5)
    is_colored = dice.random() < 0.5
    shares = [dice.random() for _ in range(count)]
    scale = dice.uniform(0.3, 0.9) / sum(shares)
    tasks = []
    for number, share in enumerate(shares):
        period = dice.choice([100, 150, 200, 300, 400, 600, dice.randint(80, 700)])
        cost = max(1, int(period * share * scale))
        tasks.append(naive.Task(period, cost, random_entries(dice, is_colored, number)))
    tasks.sort(key=lambda each: each.period)
    kernel = random_entries(dice, is_colored, 3) if dice.random() < 0.7 else []
    call = dice.randint(0, 4)
    entry = dice.randint(0, 4), call, dice.randint(0, call)
    return tasks, naive.Machine(dice.randint(0, 4), *entry, WAYS, kernel)


def test_random_task_sets_keep_their_bounds() -> None:
    """A thousand sets released at 0; the median of bound ÷ longest response is printed."""
    dice = random.Random(SEED)
    ratios: list[float] = []
    for _ in range(TASK_SETS):
        tasks, machine = random_set(dice)
        ratios += expect_bounded(tasks, machine, 1400)
    print(f"{len(ratios)} tasks with a bound: median {statistics.median(ratios):.2f}")
    assert len(ratios) > TASK_SETS
    assert min(ratios) >= 1
    assert statistics.median(ratios) <= 1.3


def test_random_phases_keep_their_bounds() -> None:
    """The same with any first release."""
    dice = random.Random(SEED + 1)
    for _ in range(TASK_SETS // 4):
        tasks, machine = random_set(dice)
        tasks = [replace(each, phase=dice.randrange(each.period)) for each in tasks]
        expect_bounded(tasks, machine, 1400)


def test_tasks_of_equal_releases_reload_once_per_job() -> None:
    """Two or three that use the same sets in turn, between a faster and a slower one: the bound is
    one miss per entry and job, and the simulation reaches it."""
    dice = random.Random(SEED + 2)
    reached = 0
    for _ in range(TASK_SETS // 4):
        entries = [(0, 0, each) for each in range(dice.randint(1, WAYS[0]))]
        count, period, miss = dice.randint(2, 3), dice.randint(200, 300), dice.randint(0, 4)
        one = naive.Task(period, dice.randint(5, 50), entries)
        others = [naive.Task(each, each // 9, [(0, 1 + at, 0)], dice.randrange(each))
                  for at, each in enumerate((50, 500))]  # fmt: skip
        tasks = [others[0], *[one] * count, others[1]]
        machine = naive.Machine(miss, 1, 2, 1, WAYS)
        turns = range(1, 1 + count)
        expect_bounded(tasks, machine, 1400, turns)
        bounds = bounds_of(tasks, machine, turns)
        crowded = len(entries) * (len(entries) * count > WAYS[0])
        assert {bounds[number].misses for number in turns} <= {crowded, None}
        most = max(job.misses for job in naive.simulate(tasks, machine, 1400) if job.number > 0)
        reached += 0 < most == crowded
    assert reached > TASK_SETS // 16


def test_every_tiny_task_set_keeps_its_bounds() -> None:
    """Two tasks, all costs, periods, phases, shared or own sets, and machines of these sizes."""
    shared, apart = (0, 0, 0), (0, 1, 0)
    count = 0
    for periods in itertools.combinations_with_replacement((5, 7, 8, 12), 2):
        for costs in itertools.product((1, 2, 3), (1, 3, 5)):
            for miss, entry, other, phase in itertools.product(
                (0, 2), (0, 1), (shared, apart), range(0, periods[1], 2)
            ):
                tasks = [
                    naive.Task(periods[0], costs[0], [shared]),
                    naive.Task(periods[1], costs[1], [other], phase),
                ]
                kernel = [shared] if phase % 4 == 0 else []
                machine = naive.Machine(miss, entry, entry, 0, [1], kernel)
                count += len(expect_bounded(tasks, machine, 100))
    assert count > 1000


def test_figure_7s_misses_are_met() -> None:
    """One color, 4 pages each: T1 1/2/0.392 ms, T2 0/16/7.88 ms, 50,000 cycles a ms. [P4-14]"""
    entries = {(0, 0): 4}
    tasks = [
        PeriodicTask("T1", 100_000, 19_600, entries),
        PeriodicTask("T2", 800_000, 394_000, entries),
    ]
    machine = Machine(8, FREE, [4], {})
    assert [each.misses for each in responses(tasks, machine)] == [4, 24]
    colored = [tasks[0], replace(tasks[1], entries={(0, 1): 4})]
    found = responses(colored, machine)
    assert [(each.misses, each.first_misses) for each in found] == [(0, 4), (0, 4)]
    # The kernel in T1's set evicts with each entry, and misses itself.
    near = replace(machine, kernel={(0, 0): 1})
    first, second = responses(colored, near)
    assert (first.misses, first.runs_of_others) == (4 * (1 + 4), 4)
    assert (second.misses, second.runs_of_others) == (0, 0)


def test_no_bound_says_why() -> None:
    """A task that does not fit, those below it, and what its own entries evict."""
    slow = [PeriodicTask("a", 100, 60, {}), PeriodicTask("b", 200, 90, {})]
    free = Machine(0, FREE, [4], {})
    found = responses([*slow, PeriodicTask("c", 300, 1, {})], free)
    assert [each.response_cycles for each in found] == [60, None, None]
    assert found[1].reason == "the fixed point exceeds the period"
    assert found[2].reason == "a task of higher priority has no bound"
    many = [PeriodicTask("a", 100, 60, {(0, 3): 5})]
    assert responses(many, free)[0].reason == "its own entries exceed the safe ways of a set"
    kernel = replace(free, kernel={(0, 3): 5})
    found = responses(slow, kernel)
    assert found[0].reason == "the kernel's entries exceed the safe ways of a set"
    assert responses([], free) == []


TASKS = """\
[[task]]
name = "slow"
period_cycles = 320_000
heap_bytes = 16384
stack_bytes = 4096
globals_bytes = 4096
code_bytes = 4096
[[task]]
name = "fast"
period_cycles = 40_000
heap_bytes = 16384
stack_bytes = 4096
globals_bytes = 4096
code_bytes = 4096
"""
COSTS = {"fast": 10_000, "slow": 50_000}
ENTRY = EntryCycles(400, 500, 100)


def test_a_planned_partition_is_bounded(tmp_path: Path) -> None:
    """Colored tasks miss in their first jobs only; with the kernel uncolored as well they miss."""
    file = tmp_path / "tasks.toml"
    file.write_text(ON_TILE + TASKS)
    tasks, geometry = read_tasks(file), known_geometry("tile-16x4")
    colored = plan_partition(tasks, geometry).partition
    timings = timings_of(tasks, COSTS)
    found = responses_in(timings, colored, 16, ENTRY)
    assert [(each.name, each.misses, each.first_misses) for each in found] == [
        ("fast", 0, 7),
        ("slow", 0, 7),
    ]
    preemptions = 2
    expected = 50_000 + preemptions * 10_000 + 16 * (7 + 7 + 2)
    expected += 500 + 400 * (1 + preemptions) + 500 * preemptions + 100
    assert found[1].response_cycles == expected
    assert found[1].kernel_entries == 3 + 2 * preemptions
    warm = responses_in(timings, colored, 16, ENTRY, is_cold=False)
    assert warm[1].response_cycles == expected - 16 * (7 + 7 + 2)
    one = colored.principals[1]
    crowded = [replace(each, runs=one.runs) for each in colored.principals]
    found = responses_in(timings, replace(colored, principals=tuple(crowded)), 16, ENTRY)
    assert all(each.misses for each in found)


def test_missing_parts_are_named(tmp_path: Path) -> None:
    """A cost, or a place."""
    file = tmp_path / "tasks.toml"
    file.write_text(ON_TILE + TASKS)
    tasks, geometry = read_tasks(file), known_geometry("tile-16x4")
    colored = plan_partition(tasks, geometry).partition
    with pytest.raises(TauError, match="fast has no cost") as caught:
        timings_of(tasks, {"slow": 1})
    assert caught.value.next_step == "give its cost_cycles, or let `tau tlb run` read its code"
    with pytest.raises(TauError, match="the plan has no principal slow"):
        kept = tuple(each for each in colored.principals if each.name != "slow")
        timings = timings_of(tasks, COSTS)
        responses_in(timings, replace(colored, principals=kept), 16, ENTRY)

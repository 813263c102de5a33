"""The replayed planner searches from several starts and is never worse than one that it confirms.

Method: random recordings whose best classes another planner, or the plan of another recording,
finds; each heap is measured again by replay.
"""

from __future__ import annotations

import random
import secrets
from pathlib import Path

import pytest

from tautochrone.plan.file import PlanClass, plan_text
from tautochrone.heap.planners import starts
from tautochrone.heap.recordings import Classes, ReplayedRecording
from tautochrone.heap.plan import Wanted, make_plan
from tautochrone.heap.profile import profile_of
from tautochrone.heap.safe import safe_heap
from testing.random_trace import write_events
from tool.tests.plan.plan_traces import come_and_go

FORMULAS = ("greedy", "exact")

FIXED = Wanted(is_input_fixed=True)


def recording(folder: Path, seed: int) -> Path:
    """A program that allocates and frees objects of 5 to 40 sizes at random."""
    source = random.Random(seed)
    sizes = sorted(source.sample(range(8, 4000, 8), source.choice([5, 18, 24, 40])))
    live_max, count = source.choice([4, 10]), source.choice([600, 1500])
    events = come_and_go(seed, sizes, live_max, count, source.choice([0.5, 0.6]))
    return write_events(folder / f"{seed}.tau", events)


def pair(folder: Path, seed: int) -> list[Path]:
    """Two inputs of one program: the same sizes, other counts and another order."""
    source = random.Random(seed)
    sizes = sorted(source.sample(range(8, 4000, 8), source.choice([12, 16, 20, 24])))
    return [
        write_events(
            folder / f"{seed}-{which}.tau",
            come_and_go(100 * seed + which, sizes, source.choice([3, 6, 10]), 500, 0.55),
        )
        for which in range(2)
    ]


def heap_of(paths: list[Path], classes: Classes) -> int:
    """The safe heap of the classes on all recordings, replayed again."""
    recordings = [ReplayedRecording(path, "32") for path in paths]
    return safe_heap(recordings, classes)


@pytest.mark.parametrize("seed", [5, 11, 21, 23])
def test_classes_are_found_where_no_guess_of_all_counts_at_once_is_admitted(
    tmp_path: Path, seed: int
) -> None:
    """Counts changed one by one, from several starts, find what whole sets of counts do not."""
    path = recording(tmp_path, seed)
    made = make_plan([path])
    found = made.found
    assert found.classes
    assert heap_of([path], found.classes) == found.heap_bytes < found.plain_heap_bytes


@pytest.mark.parametrize("seed", range(6))
def test_never_worse_than_a_formula_where_the_input_is_fixed(tmp_path: Path, seed: int) -> None:
    path = recording(tmp_path, seed)
    made = make_plan([path], FIXED)
    assert made.measured_heap_bytes <= made.plain_heap_bytes
    for planner in FORMULAS:
        assert made.found.heap_bytes <= make_plan([path], Wanted(planner)).found.heap_bytes


@pytest.mark.parametrize("seed", range(6))
def test_never_worse_than_a_start_that_was_not_refused(tmp_path: Path, seed: int) -> None:
    path = recording(tmp_path, seed)
    made = make_plan([path])
    profile = profile_of([path])
    refused = {start.name: start.refused for start in made.found.starts}
    assert {"prefixes", "greedy", "no classes"} <= refused.keys()
    for name, classes in starts.formula_starts(profile, 64):
        assert refused[name] or made.found.heap_bytes <= heap_of([path], classes)


@pytest.mark.parametrize("seed", [3, 4, 7])  # of each, the classes of one hold the other
def test_the_classes_of_one_recording_win_where_they_hold_the_other(
    tmp_path: Path, seed: int
) -> None:
    paths = pair(tmp_path, seed)
    made = make_plan(paths)
    refused = {start.name: start.refused for start in made.found.starts}
    found = [heap_of(paths, make_plan([path]).found.classes) for path in paths]
    assert made.found.heap_bytes < made.found.plain_heap_bytes
    assert not all(refused[path.name] for path in paths)
    for path, heap_bytes in zip(paths, found, strict=True):
        assert refused[path.name] or made.found.heap_bytes <= heap_bytes


@pytest.mark.parametrize("seed", [0, 5, 10])
def test_never_worse_than_the_plan_of_one_recording_of_fixed_inputs(
    tmp_path: Path, seed: int
) -> None:
    paths = pair(tmp_path, seed)
    made = make_plan(paths, FIXED)
    for path in paths:
        alone = make_plan([path], FIXED).found.classes
        assert made.found.heap_bytes <= heap_of(paths, alone)
        assert path.name in [start.name for start in made.found.starts]


@pytest.mark.slow
def test_a_fixed_input_is_never_worse_than_any_input(tmp_path: Path) -> None:
    """The option drops rules. A heap that is found with them is found without them, too."""
    seed = secrets.randbits(31)
    for index in range(6):
        path = recording(tmp_path, seed + index)
        free, fixed = make_plan([path]), make_plan([path], FIXED)
        assert fixed.measured_heap_bytes <= free.measured_heap_bytes, f"seed {seed + index}"
    paths = pair(tmp_path, seed)
    free, fixed = make_plan(paths), make_plan(paths, FIXED)
    assert fixed.measured_heap_bytes <= free.measured_heap_bytes, f"seed {seed}"


def test_equal_recordings_give_equal_plans_and_equal_work(tmp_path: Path) -> None:
    """Nothing depends on the clock."""
    paths = pair(tmp_path, 1)
    made = [make_plan(paths) for _ in range(2)]
    assert plan_text(made[0].plan, "tau plan") == plan_text(made[1].plan, "tau plan")
    assert (made[0].replays, made[0].found.starts) == (made[1].replays, made[1].found.starts)


def test_parts_of_a_start_shrink_to_the_class_that_saves_most(tmp_path: Path) -> None:
    path = recording(tmp_path, 3)
    profile = profile_of([path])
    whole = tuple(PlanClass(size.size_bytes, 1) for size in profile.sizes)
    found = starts.parts(profile, whole)
    assert found[0] == whole
    assert [len(part) for part in found] == [18, 13, 9, 6, 4, 3, 2, 1]
    assert all(set(smaller) < set(larger) for larger, smaller in zip(found, found[1:]))
    assert starts.parts(profile, ()) == []


def test_a_count_is_changed_added_or_taken_away() -> None:
    classes = (PlanClass(64, 3), PlanClass(24, 5))
    assert starts.with_count(classes, 64, 1) == (PlanClass(64, 1), PlanClass(24, 5))
    assert starts.with_count(classes, 32, 7) == (
        PlanClass(64, 3),
        PlanClass(32, 7),
        PlanClass(24, 5),
    )
    assert starts.with_count(classes, 64, 0) == (PlanClass(24, 5),)

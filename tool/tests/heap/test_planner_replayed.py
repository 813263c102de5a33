"""The replayed planner never loses to plain TLSF on its recordings, and seldom on other inputs.

Method: random recordings of several kinds, planned and replayed again; a program with inputs of
different sizes; and a recording that is only a stand-in, to see what the search asks.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tautochrone.errors import TauError
from tautochrone.machine.core_build import FASTEST
from tautochrone.plan.file import Plan, PlanClass, plan_text
from tautochrone.heap.planners import replayed
from tautochrone.heap.recordings import Classes, Meter, Run, SearchEnded
from tautochrone.heap.plan import Wanted, make_plan
from tautochrone.heap.profile import Profile, profile_of
from tautochrone.heap.safe import safe_heap as safe_heap_of_all
from tautochrone.replay.run import completes, safe_heap
from testing.random_trace import ALIGNED_ALLOC, FREE, MALLOC, Event, random_events, write_events
from tool.tests.plan.plan_traces import come_and_go

TABLE_2 = {
    "W1": (131072, 65536, 32768, 16384),
    "W2": (2048, 1024, 512, 256),
    "W3": (81936, 80176, 64032, 49472),
    "W4": (2952, 1978, 1040, 528),
    "W5": (131072, 80176, 1024, 528),
}
# Limits of the budgeted footprint over peak live bytes.
TABLE_2_RATIO_MAX = {"W1": 1.001, "W2": 1.061, "W3": 1.025, "W4": 1.045, "W5": 1.002}


def heap_of(path: Path, plan: Plan) -> int:
    """The heap that the plan needs on a recording, replayed again."""
    return safe_heap(path, "budget" if plan.classes else "tlsf", plan)


def program(seed: int, records: int) -> list[Event]:
    """A program: a set-up of 300 objects, then `records` records of two small objects each.

    A buffer a record comes and goes; at most twenty of them live.
    """
    source = random.Random(seed)
    events: list[Event] = []
    free_slots: list[int] = []
    slots = 0

    def allocate(size: int) -> int:
        nonlocal slots
        if not free_slots:
            free_slots.append(slots)
            slots += 1
        events.append((MALLOC, free_slots.pop(), size, 0))
        return events[-1][1]

    for i in range(300):
        allocate(40 + 8 * (i % 5))
    buffers: list[int] = []
    for _ in range(records):
        allocate(24)
        allocate(56)
        buffers.append(allocate(source.randrange(100, 900)))
        if len(buffers) > 20:
            free_slots.append(buffers.pop(source.randrange(len(buffers))))
            events.append((FREE, free_slots[-1], 0, 0))
    return events


@pytest.mark.parametrize("seed", range(8))
def test_never_above_plain_tlsf_on_its_own_recording(tmp_path: Path, seed: int) -> None:
    kind = seed % 4
    if kind == 0:
        events = random_events(seed, events=3000, live_max=200)
    elif kind == 1:
        events = random_events(seed, events=3000, live_max=300, sizes=(24, 56, 120), others=False)
    elif kind == 2:
        events = come_and_go(seed, [2048, 1024, 520, 24], 10, 3000)
    else:
        events = program(seed, 400)
    path = write_events(tmp_path / "t.tau", events)
    made = make_plan([path])
    plain = safe_heap(path, "tlsf")
    assert made.found.plain_heap_bytes == plain == made.plain_heap_bytes
    assert made.found.heap_bytes <= plain
    assert heap_of(path, made.plan) <= made.plan.heap_bytes <= made.plain_heap_bytes
    assert 0 <= made.plan.optimal_within < 1


@pytest.mark.parametrize("workload", TABLE_2)
def test_table_2_workloads_keep_their_footprint_limits(tmp_path: Path, workload: str) -> None:
    """[P1-20] [P1-21]: four sizes, at most ten objects each, 20,000 random events."""
    path = write_events(tmp_path / "t.tau", come_and_go(1, TABLE_2[workload], 10, 20_000))
    plan = make_plan([path]).plan
    assert plan.heap_bytes / plan.traces[0].peak_live_bytes <= TABLE_2_RATIO_MAX[workload]


@pytest.mark.parametrize(("planned", "other"), [(1500, 1000), (1000, 1500), (1500, 500)])
def test_the_plan_of_one_input_costs_little_on_another(
    tmp_path: Path, planned: int, other: int
) -> None:
    first = write_events(tmp_path / "a.tau", program(1, planned))
    second = write_events(tmp_path / "b.tau", program(2, other))
    plan = make_plan([first]).plan
    assert plan.classes, "this program's small objects are worth classes"
    assert heap_of(second, plan) <= safe_heap(second, "tlsf") * 1.02


def test_several_recordings_are_all_held_by_one_heap(tmp_path: Path) -> None:
    paths = [
        write_events(tmp_path / f"{records}.tau", program(records, records))
        for records in (300, 900, 600)
    ]
    made = make_plan(paths)
    assert [trace.name for trace in made.plan.traces] == ["300.tau", "900.tau", "600.tau"]
    assert made.found.plain_heap_bytes == max(safe_heap(path, "tlsf") for path in paths)
    assert made.plan.heap_bytes <= made.plain_heap_bytes
    for path in paths:
        assert completes(path, "budget", made.plan.heap_bytes, made.plan)


def test_the_margin_is_on_top_of_the_measured_heap_and_was_replayed(tmp_path: Path) -> None:
    """[PLAN-6]"""
    path = write_events(tmp_path / "t.tau", program(4, 300))
    made = make_plan([path], Wanted(margin=0.1))
    assert made.plan.margin == 0.1
    assert made.plan.heap_bytes * 10 >= made.measured_heap_bytes * 11
    assert made.plan.heap_bytes <= made.measured_heap_bytes * 1.12
    assert completes(path, "budget", made.plan.heap_bytes, made.plan)


def test_no_events_one_size_and_no_classes(tmp_path: Path) -> None:
    nothing = write_events(tmp_path / "empty.tau", [])
    empty = make_plan([nothing])
    assert (empty.plan.classes, empty.plan.dedicated_bytes) == ((), 0)
    assert empty.plain_heap_bytes == safe_heap(nothing, "tlsf")  # TLSF must start in it
    one_size = [(MALLOC, slot, 24, 0) for slot in range(500)]
    path = write_events(tmp_path / "one.tau", one_size)
    single = make_plan([path])
    assert [item.size_bytes for item in single.plan.classes] == [24]
    assert single.plan.heap_bytes < single.plain_heap_bytes
    none = make_plan([path], Wanted(classes_max=0))
    assert (none.plan.classes, none.plan.heap_bytes) == ((), none.plain_heap_bytes)


@pytest.mark.parametrize("planner", ["greedy", "exact", "exhaustive"])
def test_formula_plans_are_measured_too(tmp_path: Path, planner: str) -> None:
    path = write_events(tmp_path / "t.tau", come_and_go(2, [96, 56, 24], 6, 500))
    made = make_plan([path], Wanted(planner))
    assert made.plan.planner == planner
    assert made.found.heap_bytes == heap_of(path, made.plan) <= made.plan.heap_bytes
    assert made.found.plain_heap_bytes == safe_heap(path, "tlsf")


def test_sizes_beyond_the_class_limit_are_shared(tmp_path: Path) -> None:
    """More than 64 sizes [P1-8]: those with the largest S_i P_i,max get a class from a formula."""
    events = [(MALLOC, slot, 8 * (slot % 80 + 1), 0) for slot in range(800)]
    path = write_events(tmp_path / "t.tau", events)
    greedy_plan = make_plan([path], Wanted("greedy")).plan
    assert [item.size_bytes for item in greedy_plan.classes] == list(range(640, 128, -8))
    assert len(make_plan([path]).plan.classes) <= 64
    assert len(make_plan([path], Wanted(classes_max=3)).plan.classes) <= 3


# ---- the search by itself ----


@dataclass
class StandIn:
    """A recording whose heap is a formula: 80,000 bytes, less for each class in `good`, or more."""

    good: frozenset[int]
    events: int = 160
    lowest_bytes: int = 100
    highest_bytes: int = 1 << 30
    asked: list[tuple[Classes, int]] = field(default_factory=list)

    def needs(self, classes: Classes) -> int:
        """The heap for these classes."""
        change = sum(-800 if size in self.good else 400 for size, _ in classes)
        return 80_000 + change

    def prefix(self, classes: Classes, part: int) -> int:
        """The heap for so many sixteenths of the events."""
        return self.needs(classes) * part // 16

    def run(self, classes: Classes, heap_bytes: int) -> Run:
        """All events, or the part of the heap that is there."""
        self.asked.append((classes, heap_bytes))
        needs = self.needs(classes)
        if heap_bytes < needs:
            return Run(self.events * heap_bytes // needs)
        parts = tuple(self.prefix(classes, part) for part in range(1, 17))
        return Run(self.events, needs, parts)

    def threshold(self, classes: Classes, guess_bytes: int = 0, least_bytes: int = 0) -> int:
        """What it needs, if any heap has as much."""
        needs = self.needs(classes)
        return needs if needs <= self.highest_bytes else 0


def test_the_search_keeps_what_gains_and_drops_what_does_not(tmp_path: Path) -> None:
    sizes = [16 * (i + 1) for i in range(10)]
    events = [(MALLOC, slot, sizes[slot % 10], 0) for slot in range(200)]
    profile = profile_of([write_events(tmp_path / "t.tau", events)])
    recording = StandIn(frozenset(sizes[:3]))
    found = replayed.plan(profile, [recording], 64)
    assert {size for size, _ in found.classes} == set(sizes[:3])
    assert found.heap_bytes == 80_000 - 3 * 800
    assert len(recording.asked) <= replayed.REPLAYS_MAX
    none = replayed.plan(profile, [StandIn(frozenset())], 64)
    assert (none.classes, none.heap_bytes, none.plain_heap_bytes) == ((), 80_000, 80_000)


def test_a_recording_that_no_heap_holds_is_refused() -> None:
    with pytest.raises(TauError, match="no heap up to 70,000 bytes"):
        safe_heap_of_all([StandIn(frozenset(), highest_bytes=70_000)], ())


def test_a_heap_for_others_holds_a_recording_with_alignments_too(tmp_path: Path) -> None:
    """[PLAN-6] It is looked at where the others, or a margin, need so much: it fails at 20,640."""
    small = [(MALLOC, slot, (28, 12)[slot % 2], 0) for slot in range(402)]
    small += [(FREE, slot, 0, 0) for slot in range(0, 402, 2)]
    small += [(MALLOC, 402, 108, 0), (ALIGNED_ALLOC, 403, 8, 8), (MALLOC, 404, 5280, 0)]
    small += [(MALLOC, 405, 60, 0), (FREE, 404, 0, 0), (MALLOC, 406, 5580, 0)]
    aligned = write_events(tmp_path / "aligned.tau", small)
    large = write_events(tmp_path / "large.tau", [(MALLOC, 0, 19_000, 0), (MALLOC, 1, 1400, 0)])
    own = safe_heap(aligned, "tlsf")
    assert not completes(aligned, "tlsf", 20_640)
    for paths, margin in (([aligned, large], 0.0), ([aligned], 0.3)):
        wanted = Wanted(margin=margin, layout="32", build=FASTEST, pools="never")
        plan = make_plan(paths, wanted).plan
        assert plan.heap_bytes > 1.25 * own
        for size in range(plan.heap_bytes, plan.heap_bytes * 5 // 4, 8):
            assert all(completes(path, "tlsf", size) for path in paths), size


def test_an_alignment_above_all_objects_has_a_heap(tmp_path: Path) -> None:
    events = [(ALIGNED_ALLOC, 0, 100, 24), (MALLOC, 1, 5, 0)]
    path = write_events(tmp_path / "t.tau", events)
    heap_bytes = safe_heap(path, "tlsf")
    assert 1 << 24 < heap_bytes < 3 << 24
    assert make_plan([path], Wanted(margin=0.0, layout="32", build=FASTEST)).plan.heap_bytes


def test_places_do_not_depend_on_the_address_of_the_arena(tmp_path: Path) -> None:
    """[PLAN-9] At an alignment above that of a mapping, either."""
    events = [(MALLOC, 0, 3 << 20, 0), (ALIGNED_ALLOC, 1, 100, 23), (MALLOC, 2, 100, 0)]
    path = write_events(tmp_path / "t.tau", events)
    code = f"from tautochrone.replay.run import safe_heap; print(safe_heap({str(path)!r}, 'tlsf'))"
    found = {subprocess.check_output([sys.executable, "-c", code]) for _ in range(8)}
    assert len(found) == 1


@pytest.mark.parametrize("planner", ["replayed", "greedy"])
def test_the_heap_with_its_margin_holds_every_recording(planner: str, tmp_path: Path) -> None:
    """[PLAN-6] As every larger heap does, so a margin is added as it is."""
    paths = [
        write_events(tmp_path / f"{length}.tau", come_and_go(length, [1024, 56, 24], 5, length))
        for length in (300, 400)
    ]
    plan, wide = (make_plan(paths, Wanted(planner, margin=margin)).plan for margin in (0.0, 0.5))
    assert wide.heap_bytes == -(-plan.heap_bytes * 3 // 2 // 8) * 8
    assert plan.heap_bytes == max(heap_of(path, plan) for path in paths)


# ---- several recordings, and what a plan must be worth ----


@dataclass
class Growing(StandIn):
    """A recording whose heap is `plain_bytes` and what `change_bytes` says of a plan's buckets.

    Of k sixteenths of the events it needs the part (1 + k / 16) / 2 of it, and with any classes, of
    the first half `early` times that.
    """

    good: frozenset[int] = frozenset()
    plain_bytes: int = 0
    change_bytes: Callable[[dict[int, int]], float] = sum  # of the count of each size
    early: float = 1.0

    def needs(self, classes: Classes) -> int:
        """The heap for these classes."""
        return self.plain_bytes + int(self.change_bytes(dict(classes)) if classes else 0)

    def prefix(self, classes: Classes, part: int) -> int:
        """See StandIn."""
        early = self.early if classes and part <= 8 else 1.0
        return int(self.needs(classes) * (1 + part / 16) / 2 * early)


def growing(
    plain_bytes: int, change_bytes: Callable[[dict[int, int]], float], early: float = 1.0
) -> Growing:
    """Such a recording."""
    return Growing(plain_bytes=plain_bytes, change_bytes=change_bytes, early=early)


def each_bucket(**bytes_of: float) -> Callable[[dict[int, int]], float]:
    """A change for every bucket, as in each_bucket(of_24=-40)."""
    return lambda counts: sum(
        bytes_of.get(f"of_{size}", 0) * count for size, count in counts.items()
    )


def profile_with(tmp_path: Path, sizes_count: int, live_each: int = 20) -> Profile:
    """The profile of a recording with so many sizes, each `live_each` times live at the peak."""
    sizes = [8 * (i + 3) for i in range(sizes_count)]
    events = [(MALLOC, slot, sizes[slot % len(sizes)], 0) for slot in range(live_each * len(sizes))]
    return profile_of([write_events(tmp_path / f"{sizes_count}.tau", events)])


@pytest.mark.parametrize("is_first", [True, False])
def test_a_plan_costs_no_recording_more_than_plain_tlsf(tmp_path: Path, is_first: bool) -> None:
    """Also where another recording needs so much more that one heap would hold both."""
    gains = growing(80_000, each_bucket(of_24=-40, of_32=-40))
    loses = growing(50_000, each_bucket(of_32=20))
    recordings = [gains, loses] if is_first else [loses, gains]
    found = replayed.plan(profile_with(tmp_path, 2), recordings, 64)
    assert {size for size, _ in found.classes} == {24}
    assert found.heap_bytes == 80_000 - 40 * dict(found.classes)[24]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_change_that_only_one_recording_gains_by_is_no_gain(
    tmp_path: Path, is_first: bool
) -> None:
    """Fewer buckets than are live at the peak help one recording and hurt the other."""
    fewer = growing(80_000, lambda counts: -800 - 25 * (20 - counts[24]))
    more = growing(80_000, lambda counts: -800 + 30 * (20 - counts[24]))
    recordings = [fewer, more] if is_first else [more, fewer]
    found = replayed.plan(profile_with(tmp_path, 1), recordings, 64)
    assert found.heap_bytes == max(one.needs(found.classes) for one in recordings)
    assert found.heap_bytes <= max(one.needs((PlanClass(24, 20),)) for one in recordings)


def test_an_interrupted_search_takes_what_was_found_for_one_recording(tmp_path: Path) -> None:
    """The plans of single recordings are done then, and that for all is not."""
    gains, other = each_bucket(of_24=-40, of_32=-40), each_bucket()
    recordings = [growing(80_000, gains), growing(50_000, other)]
    own, ticks = [profile_with(tmp_path, 2)] * 2, [0]

    def tick() -> None:
        ticks[0] += 1
        if ticks[0] > last:
            raise SearchEnded

    last = 1 << 30
    for recording in recordings:
        replayed.plan(own[0], [recording], 64, tick)
    ticks, last = [0], ticks[0]
    found, alone = replayed.plan_several(own[0], own, recordings, 64, tick)
    assert ticks[0] > last and alone[0]
    assert found.classes == alone[0]


@dataclass
class OfOtherTables(StandIn):
    """Larger heaps have other tables, with which three classes need more."""

    def threshold(self, classes: Classes, guess_bytes: int = 0, least_bytes: int = 0) -> int:
        """More than a run says."""
        return self.needs(classes) + (1500 if len(classes) > 2 else 0)


def test_the_least_safe_heap_wins_and_not_the_least_need(tmp_path: Path) -> None:
    """What was the best on the way is measured, too."""
    recording = OfOtherTables(frozenset([24, 32, 40]))
    found = replayed.plan(profile_with(tmp_path, 3), [recording], 64)
    assert (len(found.classes), found.heap_bytes) == (2, 80_000 - 2 * 800)


@pytest.mark.parametrize("is_one_of_several", [False, True])
def test_patience_ends_with_an_only_recording(tmp_path: Path, is_one_of_several: bool) -> None:
    """No change of the twenty-four sizes is a gain; a search for several tries them all."""
    recording = StandIn(frozenset(), events=replayed.SHORT_EVENTS)
    profile = profile_with(tmp_path, 24)
    replayed.plan(profile, [recording], 64, is_one_of_several=is_one_of_several)
    alone = [classes for classes, _ in recording.asked if len(classes) == 1]  # one by the greedy
    assert (len(set(alone)) > replayed.PATIENCE + 1) == is_one_of_several


def test_a_change_that_needs_no_replay_costs_no_patience(tmp_path: Path) -> None:
    """With one class at most, changes of other sizes are refused at once, before the last's."""
    last = 24 + 8 * 23

    def run(self: StandIn, classes: Classes, heap_bytes: int) -> Run:
        needs = 80_000 - 40 * dict(classes).get(last, 0)
        parts = tuple(needs * part // 16 for part in range(1, 17))
        return Run(self.events, needs, parts) if heap_bytes >= needs else Run(10)

    recording = StandIn(frozenset(), events=replayed.SHORT_EVENTS)
    search = replayed._Search(
        profile_with(tmp_path, 24), [recording], [80_000], 1, Meter(1600, 1 << 30), True
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StandIn, "run", run)
        search.best, search.heap_bytes = (PlanClass(last, 10),), 79_600
        sizes = sorted(search.profile.sizes, key=lambda size: size.size_bytes)
        patch.setattr(replayed.starts, "sizes_to_change", lambda profile: sizes)
        replayed._change_counts(search, [])
    assert dict(search.best)[last] == 20


@pytest.mark.parametrize(("saved", "is_worth"), [(0.055, False), (0.07, True)])
def test_a_plan_saves_a_sixteenth_of_its_dedicated_bytes(
    tmp_path: Path, saved: float, is_worth: bool
) -> None:
    def saving(counts: dict[int, int]) -> float:
        return -saved * sum(size * count for size, count in counts.items())

    many, few = profile_with(tmp_path, 17), profile_with(tmp_path, 16)
    assert bool(replayed.plan(many, [growing(80_000, saving)], 64).classes) == is_worth
    assert replayed.plan(few, [growing(80_000, saving)], 64).classes, "few sizes are not a bet"


@pytest.mark.parametrize(("cost", "is_admitted"), [(0.015, True), (0.025, False)])
def test_a_plan_costs_a_prefix_at_most_a_fiftieth(
    tmp_path: Path, cost: float, is_admitted: bool
) -> None:
    """Another input may end where this one's first half does."""
    saved_bytes = 4000
    early = (1 + cost) * 80_000 / (80_000 - saved_bytes)
    recording = growing(80_000, lambda counts: -saved_bytes, early)
    many = profile_with(tmp_path, 17)
    assert bool(replayed.plan(many, [recording], 64).classes) == is_admitted


@pytest.mark.parametrize(("cost", "is_admitted"), [(0.015, True), (0.025, False)])
def test_recordings_that_differ_stand_for_inputs_a_quarter_smaller_than_the_smallest(
    tmp_path: Path, cost: float, is_admitted: bool
) -> None:
    """Here half of the larger one: it needs less than the smaller one, and more than 3/4 of it."""
    early = (1 + cost) * 100_000 / (100_000 - 4000)
    recordings = [
        growing(100_000, lambda counts: -4000, early),
        growing(80_000, lambda counts: -4000),
    ]
    many = profile_with(tmp_path, 17)
    assert bool(replayed.plan(many, recordings, 64).classes) == is_admitted


@pytest.mark.parametrize(
    ("saved", "cost", "is_taken"),
    [(0.07, 0.0, True), (0.055, 0.0, False), (0.07, 0.03, False)],
    ids=["worth it", "saves less than a sixteenth", "costs a prefix"],
)
def test_classes_that_the_search_has_not_admitted_are_judged_where_they_are_measured(
    tmp_path: Path, saved: float, cost: float, is_taken: bool
) -> None:
    """[PLANNER-4] As those that are left where each candidate has lost its largest class."""

    def saving(counts: dict[int, int]) -> float:
        return -saved * sum(size * count for size, count in counts.items())

    classes = (PlanClass(152, 20), PlanClass(24, 20))
    recording = growing(80_000, saving)
    if cost:
        recording.early = (1 + cost) * 80_000 / recording.needs(classes)
    meter = Meter(1000, 1_000_000)
    given = (profile_with(tmp_path, 17), [recording], [80_000], 64, meter, False)
    search = replayed._Search(*given, checks=[replayed._Check(0, 8, 61_200)])
    found = replayed._better(search, classes, (), 80_000)
    assert found[0] == (classes if is_taken else ())


@pytest.mark.parametrize("more", [0, 8])
def test_classes_with_which_one_recording_needs_more_are_refused(
    tmp_path: Path, more: int
) -> None:
    """[PLANNER-4] By its threshold, which may be above what its run needed."""
    classes = (PlanClass(152, 20), PlanClass(24, 20))
    recordings = [growing(80_000, lambda counts: -4000), growing(50_000, lambda counts: 0)]
    recordings[1].threshold = lambda classes, guess_bytes=0: 50_000 + more  # type: ignore
    meter = Meter(1000, 1_000_000)
    given = (profile_with(tmp_path, 17), recordings, [80_000, 50_000], 64, meter, False)
    search = replayed._Search(*given, checks=[])
    found = replayed._better(search, classes, (), 80_000)
    assert found == (((), 80_000) if more else (classes, 76_000))


def test_the_meter_bounds_the_work() -> None:
    recording = StandIn(frozenset())
    meter = Meter(replays_max=3, events_max=10_000)
    for _ in range(3):
        assert not meter.exhausted
        meter.run(recording, (), 90_000)
    assert meter.exhausted
    assert Meter(100, events_max=0).exhausted

"""Searches replay placements only: they must fail and hold exactly where the heap itself does."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace

import pytest

from tautochrone.facts import fault_format as faults
from tautochrone.replay.open_trace import OpenTrace
from tautochrone.replay.session import Session
from tautochrone.replay.systems.native import BUDGET, TLSF
from testing.random_trace import FREE, MALLOC, REALLOC, random_trace, write_events

SIZES = [24, 56, 100, 104, 516, 900, 40_000]
CLASSES = [(56, 3), (104, 9), (904, 2), (40_000, 1), (24, 5)]
STEPS = 60
SLOT_NONE = 0xFFFFFFFF
UNKNOWN = 1  # the flag of a free of no object


def sessions(trace: OpenTrace, layout: str, check_level: int) -> list[Session]:
    """Plain, and with pools that are too few, so that objects spill."""
    plan = SimpleNamespace(classes=CLASSES, layout=layout)
    return [
        Session(trace, TLSF, None, layout, check_level),
        Session(trace, BUDGET, plan, layout, check_level),
    ]


@pytest.mark.parametrize("check_level", [0, 1, 2])
@pytest.mark.parametrize("layout", ["32", "host"])
@pytest.mark.parametrize("seed", range(4))
def test_an_unchecked_run_ends_at_the_event_of_a_checked_one(
    tmp_path: Path, seed: int, layout: str, check_level: int
) -> None:
    """[REPLAY-17] With every operation, from heaps that are far too small to ones that hold."""
    source = random.Random(seed)
    path = random_trace(tmp_path / "t.tau", seed, events=2500, sizes=SIZES if seed % 2 else None)
    trace = OpenTrace(path, 0 if seed == 3 else 1 << 24)
    peak = int(trace.facts.peak_live_bytes)
    for session in sessions(trace, layout, check_level):
        ends = set()
        with session:
            sizes = [source.randrange(peak // 4, peak * 2) // 8 * 8 for _ in range(STEPS)]
            for heap_bytes in [*sizes, 64, 4096, 4 * peak]:
                checked, placed = session.run(heap_bytes), session.run(heap_bytes, checked=False)
                assert (checked.fault, checked.fault_event) == (placed.fault, placed.fault_event)
                assert checked.fault_size_bytes == placed.fault_size_bytes
                ends.add((checked.fault, checked.fault_event))
            assert (faults.COMPLETED, 0) in ends
            assert len(ends) > 5


@pytest.mark.parametrize("seed", range(8))
def test_no_heap_holds_below_what_its_blocks_take(tmp_path: Path, seed: int) -> None:
    """[REPLAY-17] And the bound is more than the peak of live bytes: headers and tables count."""
    trace = OpenTrace(random_trace(tmp_path / "t.tau", seed, events=800, live_max=30))
    peak = int(trace.facts.peak_live_bytes)
    for session in sessions(trace, "32", 1):
        with session:
            least = session.least_bytes
            assert peak < least <= session.bisected_heap()
            tried = range(peak // 8 * 8, least, 8)
            assert not any(session.run(size).fault == faults.COMPLETED for size in tried)


def test_a_bucket_takes_what_the_shared_heap_cannot_grow(tmp_path: Path) -> None:
    """[REPLAY-17] Heaps of every size, among them those in which only a bucket is left."""
    events = [(MALLOC, 0, 40, 0), (MALLOC, 1, 3000, 0), (REALLOC, 0, 104, 0), (MALLOC, 2, 104, 0)]
    trace = OpenTrace(write_events(tmp_path / "t.tau", events))
    plan = SimpleNamespace(classes=[(104, 1)])
    ends = set()
    with Session(trace, BUDGET, plan) as session:
        for heap_bytes in range(3000, 5000, 8):
            checked, placed = session.run(heap_bytes), session.run(heap_bytes, checked=False)
            assert (checked.fault, checked.fault_event) == (placed.fault, placed.fault_event)
            ends.add(int(checked.fault_event))
    assert ends == {0, 1, 3}  # the realloc never fails: the bucket is free


@pytest.mark.parametrize("in_memory_max", [0, 1 << 24])
def test_a_free_of_no_object_is_passed_over(tmp_path: Path, in_memory_max: int) -> None:
    """Regression: the slot of such an event is no object's, and it was fetched ahead."""
    events = [(MALLOC, 0, 40, 0), *[(FREE, SLOT_NONE, 0, 0)] * 20, (MALLOC, 1, 3000, 0)]
    flags = [0, *[UNKNOWN] * 20, 0]
    trace = OpenTrace(write_events(tmp_path / "t.tau", events, flags), in_memory_max)
    with Session(trace, TLSF) as session:
        assert session.run(1 << 16, checked=False).fault == faults.COMPLETED
        failed = session.run(2048, checked=False)
        assert failed.fault != faults.COMPLETED and failed.fault_event == 21


@pytest.mark.parametrize("layout", ["32", "host"])
def test_a_class_of_any_size_is_found(tmp_path: Path, layout: str) -> None:
    """[REPLAY-17] At both ends of the table of classes, and far above it as the last class."""
    unit = 8 if layout == "32" else 16
    sizes = [unit * units for units in (2046, 2047, 2048, 4000)]
    trace = OpenTrace(random_trace(tmp_path / "t.tau", 5, events=600, sizes=sizes, live_max=9))
    peak = int(trace.facts.peak_live_bytes)
    for last in sizes:
        classes = [(100, 2), *((size, 1) for size in sizes if size != last), (last, 1)]
        with Session(trace, BUDGET, SimpleNamespace(classes=classes, layout=layout), layout) as own:
            for heap_bytes in range(peak // 8 * 8, peak * 2, peak // 256 * 8):
                checked, placed = own.run(heap_bytes), own.run(heap_bytes, checked=False)
                assert (checked.fault, checked.fault_event) == (placed.fault, placed.fault_event)

"""A profile counts live objects, and drops no instant that can bind.

Method: random recordings against a naive count over every event; hostile ones one by one.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from tautochrone.errors import TauError
from tautochrone.heap.profile import PREFIXES, profile_of
from testing.random_trace import (
    ALIGNED_ALLOC,
    CALLOC,
    FREE,
    MALLOC,
    REALLOC,
    write_events,
)
from tool.tests.plan.plan_traces import (
    budgeted_bytes,
    come_and_go,
    counts_over_time,
    greedy_as_printed,
)

SLOT_NONE = 0xFFFFFFFF
UNKNOWN, INHERITED, DOUBLE_FREE = 1, 2, 4


@pytest.mark.parametrize("seed", range(12))
def test_instants_are_some_of_all_and_dominate_all(tmp_path: Path, seed: int) -> None:
    source = random.Random(seed)
    sizes = sorted({source.randrange(1, 40) * 8 for _ in range(5)}, reverse=True)
    events = come_and_go(seed, sizes, 8, 600)
    rows = counts_over_time(events, sizes)
    profile = profile_of([write_events(tmp_path / "t.tau", events)])
    instants = profile.reduce(sizes)
    kept = instants.live_counts(np.arange(instants.count))
    for row in rows:
        assert (kept >= row).all(axis=1).any()
    for row in kept:
        assert (rows == row).all(axis=1).any()
    assert profile.peak_live_bytes == (rows @ np.array(sizes)).max()
    assert instants.peaks == rows.max(axis=0).tolist()


@pytest.mark.parametrize("seed", range(6))
def test_eq_4_and_greedy_equal_the_naive_ones(tmp_path: Path, seed: int) -> None:
    """[P1-12] [P1-16], with a class for only some of the sizes as well."""
    sizes = [400, 320, 104, 64, 16]
    events = come_and_go(seed, sizes, 10, 800)
    rows = counts_over_time(events, sizes)
    profile = profile_of([write_events(tmp_path / "t.tau", events)])
    instants = profile.reduce(sizes)
    assert instants.greedy() == greedy_as_printed(rows, sizes)
    counts = [random.Random(seed).randrange(10) for _ in sizes]
    assert instants.budgeted_bytes(counts).max() == budgeted_bytes(rows, sizes, counts).max()
    some = profile.reduce([320, 16])
    expected = budgeted_bytes(rows, sizes, [0, 4, 0, 0, 7]).max()
    assert some.budgeted_bytes([4, 7]).max() == expected


@pytest.mark.parametrize("seed", range(4))
def test_live_counts_at_the_peak_and_at_each_prefix(tmp_path: Path, seed: int) -> None:
    sizes = [64, 48, 24]
    events = come_and_go(seed, sizes, 30, 1600)
    rows = counts_over_time(events, sizes)
    in_use = rows @ np.array(sizes)
    profile = profile_of([write_events(tmp_path / "t.tau", events)])
    by_size = {size.size_bytes: size for size in profile.sizes}
    for prefix in range(1, PREFIXES + 1):
        peak = int(in_use[: len(events) * prefix // PREFIXES].argmax())
        for column, size in enumerate(sizes):
            assert by_size[size].live_at_prefix_peak[prefix - 1] == rows[peak][column]
    for column, size in enumerate(sizes):
        assert by_size[size].live_at_peak == rows[int(in_use.argmax())][column]
        assert by_size[size].allocations == sum(event[2] == size for event in events)


def test_sizes_are_rounded_up_to_the_granule(tmp_path: Path) -> None:
    events = [(MALLOC, 0, 17, 0), (CALLOC, 1, 24, 0), (MALLOC, 2, 20, 0), (MALLOC, 3, 1, 0)]
    path = write_events(tmp_path / "t.tau", events)
    found = {size.size_bytes: size for size in profile_of([path]).sizes}
    assert sorted(found) == [8, 24]
    assert found[24].peak_live == 3
    # TLSF's block for 17 and 20 bytes is 24, for 24 it is 32; for 1 byte it is 16.
    assert (found[24].grown, found[8].grown) == (1, 1)
    assert [size.size_bytes for size in profile_of([path], granule_bytes=16).sizes] == [32, 16]


def test_realloc_moves_an_object_from_class_to_class_at_once(tmp_path: Path) -> None:
    events = [(MALLOC, 0, 64, 0), (REALLOC, 0, 32, 0), (REALLOC, 0, 64, 0), (FREE, 0, 0, 0)]
    profile = profile_of([write_events(tmp_path / "t.tau", events)])
    instants = profile.reduce([64, 32])
    assert profile.peak_live_bytes == 64
    assert instants.peaks == [1, 1]
    # A bucket of 64 bytes stands empty while the object has 32: 96 bytes, more than U_max.
    assert instants.budgeted_bytes([1, 0]).max() == 96
    assert instants.greedy() == [0, 0]


def test_objects_of_no_bytes_and_over_aligned_ones_are_no_classes(tmp_path: Path) -> None:
    events = [(MALLOC, 0, 0, 0), (ALIGNED_ALLOC, 1, 64, 6), (ALIGNED_ALLOC, 2, 64, 3)]
    events += [(REALLOC, 0, 8, 0), (FREE, 1, 0, 0)]
    profile = profile_of([write_events(tmp_path / "t.tau", events)])
    assert [(size.size_bytes, size.peak_live) for size in profile.sizes] == [(64, 1), (8, 1)]
    assert profile.peak_live_bytes == 64 + 64 + 8


def test_recordings_are_kept_apart(tmp_path: Path) -> None:
    """Objects live at the end of one do not live in the next; the limit is the larger U_max."""
    first = write_events(tmp_path / "a.tau", [(MALLOC, slot, 40, 0) for slot in range(6)])
    second = write_events(tmp_path / "b.tau", [(MALLOC, slot, 16, 0) for slot in range(5)])
    profile = profile_of([first, second])
    instants = profile.reduce([40, 16])
    assert profile.peak_live_bytes == 240
    assert instants.trace_starts == [0, 1]
    assert instants.live_counts(np.arange(2)).tolist() == [[6, 0], [0, 5]]
    # With all six large buckets 80 + 240 bytes would be needed in the second recording.
    assert instants.greedy() == [4, 0]
    assert [size.live_at_prefix_peak[-1] for size in profile.sizes] == [0, 0]


def test_an_empty_recording_has_no_instants(tmp_path: Path) -> None:
    profile = profile_of([write_events(tmp_path / "t.tau", [])])
    assert (profile.sizes, profile.peak_live_bytes) == ([], 0)
    assert profile.reduce([]).count == 0


HUGE = [(MALLOC, slot, 2**51, 0) for slot in range(4)]
LARGEST = [(MALLOC, 0, 8, 0), (MALLOC, 1, 2**64 - 1, 0)]
TWICE = [(MALLOC, 0, 8, 0), (FREE, 0, 0, 0), (FREE, 0, 0, 0), (MALLOC, 0, 16, 0)]
NOBODYS = [(MALLOC, 0, 8, 0), (FREE, SLOT_NONE, 0, 0), (MALLOC, 1, 16, 0)]


@pytest.mark.parametrize(
    ("events", "flags", "cause"),
    [
        (LARGEST, [0, 0], "event 1 .*more memory than any machine"),
        (HUGE, [0] * 4, "event 2 .*more memory than any machine"),
        (NOBODYS, [0, UNKNOWN, 0], "does not hold every allocation: a free is of .*: event 1"),
        (TWICE, [0, 0, DOUBLE_FREE, 0], "1 double free .first: event 2"),
    ],
)
def test_a_recording_without_a_profile_is_refused(
    tmp_path: Path, events: list[tuple[int, int, int, int]], flags: list[int], cause: str
) -> None:
    """Sizes that sums cannot hold; misuse, unless it is to be skipped."""
    path = write_events(tmp_path / "t.tau", events, flags)
    with pytest.raises(TauError, match=cause) as refused:
        profile_of([path])
    if any(flags):
        assert "--skip-misuse" in str(refused.value.next_step)
        assert 16 in [size.size_bytes for size in profile_of([path], skip_misuse=True).sizes]


def test_inherited_objects_are_skipped(tmp_path: Path) -> None:
    events = [(MALLOC, 0, 8, 0), (FREE, SLOT_NONE, 0, 0)]
    path = write_events(tmp_path / "t.tau", events, [0, INHERITED])
    assert [size.size_bytes for size in profile_of([path]).sizes] == [8]


def test_a_file_that_is_not_a_recording_is_refused_with_a_next_step(tmp_path: Path) -> None:
    path = tmp_path / "t.tau"
    path.write_bytes(b"not a trace at all")
    with pytest.raises(TauError, match=r"t\.tau") as refused:
        profile_of([path])
    assert "tau import" in str(refused.value.next_step)
    with pytest.raises(TauError):
        profile_of([tmp_path / "missing.tau"])
    with pytest.raises(TauError, match="granule"):
        profile_of([path], granule_bytes=12)


def test_classes_must_differ(tmp_path: Path) -> None:
    profile = profile_of([write_events(tmp_path / "t.tau", [(MALLOC, 0, 8, 0)])])
    with pytest.raises(ValueError, match="differ"):
        profile.reduce([8, 8])
    with pytest.raises(ValueError, match="differ"):
        profile.reduce([12])

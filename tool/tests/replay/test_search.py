"""The search finds the smallest size that holds, and reports each trial. Method: predicates."""

from __future__ import annotations

import random
from functools import partial

import pytest

from tautochrone.errors import TauError
from tautochrone.replay import search
from tautochrone.replay.search import (
    RESOLUTION_BYTES,
    bisected_steps,
    safe_steps,
    samples_of,
    step_of,
)


def last_of(holds, lower_bytes: int, limit_bytes: int, *rest: int | None) -> int:
    """The answer of galloping and bisecting."""
    found = 0
    for found in bisected_steps(holds, lower_bytes, limit_bytes, *rest):
        pass
    return found


@pytest.mark.parametrize("guess_bytes", [None, 8, 50_000, 200_000])
def test_finds_the_threshold_of_a_monotone_predicate(guess_bytes: int | None) -> None:
    source = random.Random(7)
    for _ in range(300):
        lower = source.randrange(0, 60_000)
        threshold = lower + source.randrange(0, 100_000)
        expected = max(-(-threshold // RESOLUTION_BYTES) * RESOLUTION_BYTES, RESOLUTION_BYTES)
        assert last_of(lambda size, t=threshold: size >= t, lower, 1 << 20, guess_bytes) == expected


def test_tells_when_nothing_holds() -> None:
    assert last_of(lambda size: False, 1000, 1 << 16) == 0


def test_the_answer_holds_and_what_was_promised_below_it_does_not() -> None:
    source = random.Random(11)
    for _ in range(100):
        holes = {size: source.random() < 0.7 for size in range(0, 1 << 15, RESOLUTION_BYTES)}
        tried: dict[int, bool] = {}

        def holds(size: int, holes: dict[int, bool] = holes, tried: dict = tried) -> bool:
            tried[size] = size >= 30_000 or (size >= 8000 and holes.get(size, True))
            return tried[size]

        found = last_of(holds, 4000, 1 << 20)
        assert tried[found]
        assert not tried[found - RESOLUTION_BYTES]
        assert not any(held for size, held in tried.items() if size < found)


def test_the_number_of_runs_stays_small() -> None:
    runs = 0

    def holds(size: int) -> bool:
        nonlocal runs
        runs += 1
        return size >= 8_123_456

    assert last_of(holds, 8_000_000, 1 << 30) == 8_123_456
    assert runs <= 50


@pytest.mark.parametrize(("within", "tries"), [(0, 13), (64, 10)])
def test_a_close_guess_is_left_in_steps_that_double(within: int, tries: int) -> None:
    """And `within_bytes` end the search early."""
    tried: list[int] = []

    def holds(size: int) -> bool:
        tried.append(size)
        return size >= 80_000

    for found in bisected_steps(holds, 1000, 1 << 20, 81_000, 8, within, 64):
        pass
    assert tried[:5] == [81_000, 80_936, 80_808, 80_552, 80_040]
    assert 80_000 <= found <= 80_000 + within
    assert len(tried) == tries


def test_a_large_heap_is_found_to_a_power_of_two() -> None:
    """[REPLAY-9]"""
    assert [step_of(size) for size in (0, 1 << 19, (1 << 20) - 1, 1 << 20, 10**9)] == [
        *(8, 8, 8, 16, 8192)
    ]
    assert step_of(0, 4) == 4
    for limit in (1 << 20, 1_000_001):
        assert last_of(lambda size: size >= 70_001, 60_000, limit, None, 256) == 70_144
    assert last_of(lambda size: False, 60_000, 70_001, None, 256) == 0


def safe_of(holds, lower_bytes: int, limit_bytes: int = 1 << 20, samples: int = 48) -> int:
    """The answer of the search for a safe heap."""
    found = 0
    for found in safe_steps(partial(map, holds), lower_bytes, limit_bytes, samples):
        pass
    return found


@pytest.mark.parametrize(
    ("bad", "safe"),
    [
        (range(0), 4000),
        (range(4008, 4016), 4016),  # an island one step above
        (range(4400, 4808), 4808),  # one far above
        ([*range(4100, 4300), *range(5000, 5200)], 5200),  # two of them: the last one counts
        (range(5200, 5400), 4000),  # beyond a quarter more
        (range(4000, 4808), 4808),  # none: the least that holds
    ],
)
def test_a_safe_heap_lies_behind_each_sample_that_fails(bad, safe: int) -> None:
    """[REPLAY-16] To the step: between the sample that fails and the next one it bisects."""
    assert safe_of(lambda size: size not in bad, 4000) == safe


def test_no_sample_of_a_safe_heap_fails_and_they_reach_a_quarter_more() -> None:
    """[REPLAY-16] For heaps that hold at random. No size is tried twice."""
    source = random.Random(13)
    for _ in range(100):
        bad = {size for size in range(4000, 8000, RESOLUTION_BYTES) if source.random() < 0.02}
        tried: list[int] = []

        def holds(size: int, bad: set = bad, tried: list = tried) -> bool:
            tried.append(size)
            return size not in bad

        safe = safe_of(holds, 4000)
        assert len(tried) == len(set(tried))
        above = {size for size in tried if size >= safe}
        assert above and not above & bad
        pitch = 1 << int(safe / 4 / 36).bit_length()
        spread = {size for size in range(0, int(safe * 1.25) + 1, pitch) if size > safe}
        assert spread <= above and len(spread) <= 48 * 3 // 4
        assert {safe + RESOLUTION_BYTES * index for index in range(48 // 4 + 1)} <= above


@pytest.mark.parametrize(
    ("useful_bytes", "safe", "tries_max"),
    [(4792, 0, 28), (4800, 0, 28), (4808, 4808, 53), (1 << 19, 4808, 53)],
)
def test_a_search_ends_where_only_useless_heaps_are_left(
    useful_bytes: int, safe: int, tries_max: int
) -> None:
    """Behind the near ones, samples are tried from the largest down: a failure ends it early."""
    tried: list[int] = []

    def holds(size: int) -> bool:
        tried.append(size)
        return size not in range(4600, 4808)

    steps = safe_steps(partial(map, holds), 4000, 1 << 20, 48, None, 8, useful_bytes)
    assert list(steps)[-1] == safe
    assert len(tried) <= tries_max
    failed = next(index for index, size in enumerate(tried) if size in range(4600, 4808))
    assert set(range(4008, 4104, RESOLUTION_BYTES)) <= set(tried[:failed])
    samples = tried[tried.index(4000) + 1 : failed + 1]
    assert samples == sorted(samples, key=lambda size: (size > 4000 + 12 * RESOLUTION_BYTES, -size))


def test_a_search_for_a_safe_heap_ends_at_the_limit() -> None:
    assert safe_of(lambda size: size <= 4104, 4000, 4400) == 0
    assert safe_of(lambda size: size >= 5000, 4000, 4400) == 0


@pytest.mark.parametrize(("multiple", "why"), [(1 << 30, "does not hold"), (64, "fail again")])
def test_a_search_ends_where_few_sizes_hold(multiple: int, why: str) -> None:
    """[REPLAY-9, REPLAY-16] As in an arena of a library that only takes such multiples."""
    tried = []

    def holds(size: int) -> bool:
        tried.append(size)
        return size % multiple == 0

    steps = safe_steps(partial(map, holds), 4000, 1 << 44, 48)
    with pytest.raises(TauError, match=why):
        search.last_of(steps, "mine", 1 << 44, None)
    assert len(tried) < 1000 and max(tried) <= (64 * 4000 + (16 << 20)) * 5 // 4


def test_short_traces_have_more_samples() -> None:
    """[REPLAY-16]"""
    assert samples_of(0) == samples_of(10_000) == 480
    assert samples_of(100_000) == 80
    assert samples_of(10_000_000) == 16

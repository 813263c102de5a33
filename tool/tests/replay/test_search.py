"""The search finds the smallest size that holds, and reports each trial. Method: predicates."""

from __future__ import annotations

import random

import pytest

from tautochrone.replay.search import RESOLUTION_BYTES, grid_sizes_of, search_steps


def last_of(holds, lower_bytes: int, limit_bytes: int, *rest: int | None) -> int:
    """The answer of the search."""
    found = 0
    for found in search_steps(holds, lower_bytes, limit_bytes, *rest):
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


def test_with_a_fine_grid_the_answer_is_the_smallest_there_is() -> None:
    source = random.Random(12)
    for _ in range(50):
        good = {size for size in range(4000, 9000, RESOLUTION_BYTES) if source.random() < 0.05}
        found = last_of(lambda size, g=good: size in g or size >= 9000, 4000, 1 << 20, None, 1000)
        assert found == min([*good, 9000])


def test_the_grid_is_fine_for_small_traces_and_bounded_for_large_ones() -> None:
    assert grid_sizes_of(0) == grid_sizes_of(1000) == 4096
    assert grid_sizes_of(1_000_000) == 20
    assert grid_sizes_of(10**9) == 12


def test_the_number_of_runs_stays_small() -> None:
    runs = 0

    def holds(size: int) -> bool:
        nonlocal runs
        runs += 1
        return size >= 8_123_456

    assert last_of(holds, 8_000_000, 1 << 30) == 8_123_456
    assert runs <= 50

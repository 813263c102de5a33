"""Plans that are asked for by RAM or by faults [CPLAN-15]: the tried and the chosen ones."""

from collections.abc import Iterator

import numpy as np
import pytest

from tautochrone.coldcode import placement, planning
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.pieces import Code, Split, part_of
from tautochrone.coldcode.planning import Planned, begun, for_faults, for_ram, planned
from tautochrone.coldcode.replay import Cache
from tautochrone.coldcode.residence import Splits
from tautochrone.errors import TauError
from testing.cold_problems import code_of, random_code

FRAMES = (4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
CACHE = Cache(4)
SEEDS = range(12)


def thresholds_of(code: Code) -> Iterator[Split]:
    """Code that is executed less than another piece leaves, the smallest such part first."""
    for count in np.unique(code.most[code.most > 0]).tolist():
        is_cold = code.cold_at(count)
        yield Split(part_of(code, is_cold), is_cold)


def least_of(code: Code) -> int:
    """The RAM that is taken if everything leaves that can."""
    return code.resident_bytes(code.coldest) + 4 * PAGE_BYTES


def fingerprint(plan: Planned) -> tuple[int, list[bool]]:
    return plan.cache.frames, plan.is_cold.tolist()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Planned], list[Planned]]:
    """The plans that are tried, and those that are searched."""
    tried: list[Planned] = []
    searched: list[Planned] = []

    def noted_begun(code: Code, split: Split, cache: Cache) -> Planned:
        tried.append(begun(code, split, cache))
        return tried[-1]

    def noted_planned(code: Code, split: Split, cache: Cache) -> Planned:
        searched.append(planned(code, split, cache))
        return searched[-1]

    monkeypatch.setattr(placement, "STEPS_MAX", 50)
    monkeypatch.setattr(planning, "begun", noted_begun)
    monkeypatch.setattr(planning, "planned", noted_planned)
    return tried, searched


@pytest.mark.parametrize("seed", SEEDS)
def test_so_much_ram_is_tried_with_all_frames_and_both_orders(
    seed: int, steps: tuple[list[Planned], list[Planned]]
) -> None:
    """Exactly the RAM of a threshold and four frames, or much more."""
    tried, searched = steps
    code = random_code(seed, 40, 400)
    at_threshold = max(code.resident_bytes(split.is_cold) for split in thresholds_of(code))
    for frames in (4, 12, 64):
        tried.clear()
        searched.clear()
        ram_bytes = at_threshold + frames * PAGE_BYTES
        plan = for_ram(code, ram_bytes, CACHE)
        expected = []
        for tried_frames in FRAMES:
            room = ram_bytes - tried_frames * PAGE_BYTES
            for splits in (thresholds_of(code), Splits(code, tried_frames)):
                fitting = [one for one in splits if code.resident_bytes(one.is_cold) <= room]
                expected += [(tried_frames, one.is_cold.tolist()) for one in fitting[:1]]
        assert list(map(fingerprint, tried)) == expected
        best = sorted(tried, key=lambda one: (one.faults, one.ram_bytes))[:3]
        assert list(map(fingerprint, searched)) == list(map(fingerprint, best))
        assert plan.faults == min(one.faults for one in searched)
        assert plan.ram_bytes <= ram_bytes


@pytest.mark.parametrize("seed", SEEDS)
def test_too_little_ram_is_refused_with_what_is_enough(seed: int) -> None:
    code = random_code(seed)
    least = least_of(code)
    assert for_ram(code, least, CACHE).ram_bytes == least
    with pytest.raises(
        TauError, match=f"{least - 1:,} bytes are too few: the coldest plan takes {least:,}"
    ):
        for_ram(code, least - 1, CACHE)


def test_code_that_is_touched_too_often_to_leave_counts_as_staying(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The announced RAM is enough: one piece leaves, two are touched eleven times."""
    monkeypatch.setattr(planning, "TOUCHES_TRIED_MAX", 10)
    code = code_of([PAGE_BYTES] * 3, [0, 1] * 8 + [2] * 3)
    least = 6 * PAGE_BYTES
    with pytest.raises(
        TauError, match=f"{least - 1:,} bytes are too few: the coldest plan takes {least:,}"
    ):
        for_ram(code, least - 1, CACHE)
    assert for_ram(code, least, CACHE).ram_bytes == least


def test_a_piece_of_several_pages_has_as_many() -> None:
    """[CPLAN-4] It starts a page, and nothing else is on those that it goes on over."""
    code = code_of([2 * PAGE_BYTES + 2, 64, PAGE_BYTES + 2], [1])
    plan = planned(code, Split(0, code.coldest), CACHE)
    assert plan.pages == [[1], [0], [], [], [2], []]


@pytest.mark.parametrize("seed", SEEDS)
def test_as_many_faults_as_the_coldest_plans_have_take_least_ram(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "STEPS_MAX", 50)
    code = random_code(seed, 40, 400)
    most = max(begun(code, split, CACHE).faults for split in Splits(code, 4))
    found = for_faults(code, most, CACHE)
    assert found.ram_bytes == least_of(code) and found.faults <= most


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_keeps_to_its_faults_with_less_ram_than_without_any(
    seed: int, steps: tuple[list[Planned], list[Planned]]
) -> None:
    tried, searched = steps
    code = random_code(seed, 40, 400)
    everything = code.resident_bytes(np.zeros(len(code.pieces), bool))
    coldest = begun(code, Split(0, code.coldest), CACHE)
    for faults_max in (0, coldest.faults // 4, coldest.faults // 2):
        tried.clear()
        searched.clear()
        plan = for_faults(code, faults_max, CACHE)
        assert plan.faults <= faults_max
        assert plan.ram_bytes <= everything + 4 * PAGE_BYTES
        allowed = [one for one in tried if one.faults <= faults_max]
        least = sorted(allowed, key=lambda one: (one.ram_bytes, one.faults))[0]
        assert fingerprint(searched[0]) == fingerprint(least)
        assert plan.ram_bytes == min(one.ram_bytes for one in searched if one.faults <= faults_max)

"""The core's code is as large as the checked-in table says, and that is within the limits.

Method: bench/size/run.py compiles the core for both targets; a grown function shows in a diff.
"""

from __future__ import annotations

import copy

import pytest

from bench.size import run as size
from testing.golden import pinned

# Code of malloc and free at -Os, in bytes, checks off.
LIMITS = {"m4": 750, "rv32": 1000}


@pytest.fixture(scope="module")
def today() -> dict:
    """Today's sizes."""
    return size.table()


def test_sizes_are_those_checked_in(today: dict) -> None:
    changed = size.differences(today, pinned(size.GOLDEN, today))
    told = "TAU_UPDATE_GOLDEN=1 python -m bench.size.run, look at the diff:"
    assert not changed, "\n".join([told, *changed])


@pytest.mark.parametrize("target", LIMITS)
def test_malloc_and_free_stay_within_their_limit(today: dict, target: str) -> None:
    assert today[target]["-Os checks 0"]["linked"]["tlsf malloc+free"] <= LIMITS[target]


def test_one_byte_more_is_seen(today: dict) -> None:
    grown = copy.deepcopy(today)
    grown["m4"]["-O2 checks 1"]["functions"]["tau_tlsf_malloc"] += 1
    del grown["rv32"]["-Os checks 0"]["linked"]["budget malloc+free"]
    assert len(size.differences(grown, today)) == 2

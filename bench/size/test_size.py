"""The core's code is as large as the checked-in table says, and that is within the limits.

Method: bench/size/run.py compiles the core for both targets; a grown function shows in a diff.
"""

import copy
import ctypes
import json

import pytest

from bench.size import run as size
from tautochrone import native

# Code of malloc and free at -Os, in bytes, checks off.
LIMITS = {"m4": 840, "rv32": 1200}
CONTROL_BYTES = {16 << 10: 212, 64 << 10: 404, 1 << 20: 972}
QUICK = ("-Os checks 0", "-O2 checks 1")


@pytest.fixture(scope="module")
def today() -> dict:
    """Today's sizes, of two builds."""
    return size.table(QUICK)


def expect_checked_in(sizes: dict) -> None:
    """The sizes of each function and of each linked set are as checked in."""
    changed = size.differences(sizes, json.loads(size.GOLDEN.read_text(encoding="utf-8")))
    told = "TAU_UPDATE_GOLDEN=1 python -m bench size, look at the diff:"
    assert not changed, "\n".join([told, *changed])


def test_sizes_are_those_checked_in(today: dict) -> None:
    expect_checked_in(today)


@pytest.mark.slow
def test_sizes_of_the_other_builds_are_those_checked_in() -> None:
    expect_checked_in(size.table([build for build in size.BUILDS if build not in QUICK]))


@pytest.mark.parametrize("target", LIMITS)
def test_malloc_and_free_stay_within_their_limit(today: dict, target: str) -> None:
    assert today[target]["-Os checks 0"]["linked"]["tlsf malloc+free"] <= LIMITS[target]


@pytest.mark.parametrize(("size_bytes", "specified"), CONTROL_BYTES.items())
def test_control_block_is_as_large_as_specified(size_bytes: int, specified: int) -> None:
    """docs/spec/tlsf.md states them; up to one alignment more lies before the first block."""
    core = native.library("libtau_core32.so")
    memory = ctypes.create_string_buffer(size_bytes + 8)
    heap = core.tau_tlsf_init(ctypes.addressof(memory) + 7 & ~7, size_bytes, 0)
    assert specified <= core.tau_tlsf_statistics(heap).control_bytes <= specified + 8


def test_one_byte_more_is_seen(today: dict) -> None:
    grown = copy.deepcopy(today)
    grown["m4"]["-O2 checks 1"]["functions"]["tau_tlsf_malloc"] += 1
    del grown["rv32"]["-Os checks 0"]["linked"]["budget malloc+free"]
    assert len(size.differences(grown, today)) == 2

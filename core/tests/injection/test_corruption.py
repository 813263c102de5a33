"""No call leaves a heap's memory, whatever one word of a block was overwritten by: corrupt_heap."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.tests.kit.core_build import NARROW, Build, build_program, run_program

RUN_SECONDS_MAX = 300


def calls_stay_inside(build: Build, states: int, folder: Path) -> None:
    """Runs corrupt_heap. Raises AssertionError with the first calls that did not."""
    extra = NARROW if build.word_bits == 32 else ()
    program = build_program(build, "corrupt_heap", folder, extra=extra)
    seed = os.environ.get("TAU_TEST_SEED", "1")
    print(run_program(program, [seed, str(states)], RUN_SECONDS_MAX))


@pytest.mark.parametrize("check_level", [1, 2])
@pytest.mark.parametrize("word_bits", [32, 64])
def test_no_call_leaves_a_damaged_heap(word_bits: int, check_level: int, tmp_path: Path) -> None:
    """Eight random states of 4 KiB: a thousand faults of each, and every call after each fault."""
    calls_stay_inside(Build(word_bits, check_level, 0, "-O2", "gcc"), 8, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("check_level", [1, 2])
@pytest.mark.parametrize("word_bits", [32, 64])
def test_no_call_leaves_more_heaps(word_bits: int, check_level: int, tmp_path: Path) -> None:
    """The same of 100 states, freed memory being filled."""
    calls_stay_inside(Build(word_bits, check_level, 1, "-O1", "gcc"), 100, tmp_path)

"""An MMU that keeps translations by region is told of all that is unmapped, and after the store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.tests.kit.core_build import Build, build_program, run_program
from core.tests.mutants.mutate import Mutant

RUN_SECONDS_MAX = 300
SEED = os.environ.get("TAU_TEST_SEED", "1")
BUILDS = [
    Build(32, 1, 0, "-O1", "gcc", sanitize=True),
    Build(64, 2, 0, "-O1", "gcc", sanitize=True),
]
HOOK = "    TAU_PORT_FORGET_REGION(space, start);\n"
STORE = "    space->validity.regions[start].top = top;\n"
MUTANTS = [
    Mutant("never told", "vspace_inline.h", HOOK, ""),
    Mutant("told before the store", "vspace_inline.h", STORE + HOOK, HOOK + STORE),
]


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_nothing_stale_is_kept(build: Build, tmp_path: Path) -> None:
    """Random calls of a heap and of regions; all that is kept is compared after each."""
    program = build_program(build, "fuzz_forget", tmp_path, extra=("-DTAU_ASSERT_LEVEL=2",))
    print(run_program(program, [SEED, "20000"], RUN_SECONDS_MAX))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_missing_hook_is_noticed(mutant: Mutant, tmp_path: Path) -> None:
    """The other places are among the mutants of mutate.py."""
    core = mutant.core(tmp_path)
    program = build_program(BUILDS[0], "fuzz_forget", tmp_path, core)
    with pytest.raises(AssertionError, match="not so"):
        run_program(program, [SEED, "20000"], RUN_SECONDS_MAX)

"""Builds and runs the core's C tests, each program in each configuration one test.

A few configurations run in `make check`; the whole matrix of word sizes, check levels, junk fill,
optimization, sanitizers and compilers is marked slow. Failing programs show their output, which
names the seed.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from core.tests.kit.core_build import NARROW, Build, build_program, run_program
from core.tests.mutants.mutate import MUTANTS

RUN_SECONDS_MAX = 300

# One configuration each of what goes wrong apart: layouts, levels, junk, optimizers, compilers.
QUICK = [
    Build(32, 0, 0, "-O2", "gcc"),
    Build(64, 1, 0, "-O2", "gcc"),
    Build(32, 1, 0, "-O1", "gcc", sanitize=True),
    Build(64, 2, 1, "-O1", "gcc", sanitize=True),
    Build(32, 2, 1, "-O0", "clang-14"),
]
EVERY = [
    Build(word_bits, level, junk, optimize, compiler, sanitize)
    for word_bits, level, junk, optimize, compiler, sanitize in itertools.product(
        (32, 64), (0, 1, 2), (0, 1), ("-O0", "-O2"), ("gcc", "clang-14"), (False, True)
    )
]
EXAMPLES = [
    "test_tlsf",
    "test_tlsf_misuse",
    "test_tlsf_pools",
    "test_tlsf_checker",
    "test_budget",
    "test_budget_plans",
    "test_budget_checker",
]
# Every check level; with junk fill freed memory is filled under the lock.
THREADED = [
    Build(64, 0, 0, "-O1", "gcc"),
    Build(64, 1, 0, "-O1", "clang-14"),
    Build(32, 2, 1, "-O1", "gcc"),
]
FUZZERS = ["fuzz_tlsf", "fuzz_budget"]


def combinations() -> list[object]:
    """Every program in every configuration that makes sense, the quick ones unmarked."""
    result = []
    for build in [*QUICK, *(build for build in EVERY if build not in QUICK)]:
        for name in EXAMPLES:
            if name == "test_tlsf_misuse" and build.check_level == 0:
                continue
            marks = [] if build in QUICK else [pytest.mark.slow]
            result.append(pytest.param(name, build, id=f"{name}-{build}", marks=marks))
    return result


@pytest.mark.parametrize(("name", "build"), combinations())
def test_examples(name: str, build: Build, tmp_path: Path) -> None:
    """The C program's own tests pass."""
    print(run_program(build_program(build, name, tmp_path), [], RUN_SECONDS_MAX))


@pytest.mark.parametrize("word_bits", [32, 64])
@pytest.mark.parametrize("scan", [0, 1])
@pytest.mark.parametrize("optimize", ["-O2", "-Os"])
def test_bits(word_bits: int, scan: int, optimize: str, tmp_path: Path) -> None:
    """The scans by instruction, by table, and by the small table of a build for size."""
    build = Build(word_bits, 1, 0, optimize, "gcc", sanitize=True)
    program = build_program(build, "test_bits", tmp_path, extra=(f"-DTAU_BITS_SCAN={scan}",))
    print(run_program(program, [], RUN_SECONDS_MAX))


@pytest.mark.parametrize("word_bits", [32, 64])
def test_inits(word_bits: int, tmp_path: Path) -> None:
    """No memory leads around the end of the address space, at either width of addresses."""
    extra = NARROW if word_bits == 32 else ()
    program = build_program(Build(word_bits), "test_inits", tmp_path, extra=extra)
    print(run_program(program, [], RUN_SECONDS_MAX))


@pytest.mark.parametrize("arm", [False, True])
def test_bitmaps_may_count_from_either_end(arm: bool, tmp_path: Path) -> None:
    """Arm counts bitmap bits from the top; the heap must not care."""
    build = Build(32, 1, 0, "-O1", "gcc", sanitize=True)
    extra = ("-D__arm__",) if arm else ()
    program = build_program(build, "test_tlsf", tmp_path, extra=extra)
    print(run_program(program, [], RUN_SECONDS_MAX))


@pytest.mark.parametrize("assert_level", [1, 2])
@pytest.mark.parametrize("check_level", [0, 1, 2])
def test_hooks_and_wrong_pointers(check_level: int, assert_level: int, tmp_path: Path) -> None:
    """The hook of refusals tells of each once; no wrong pointer trips an assertion."""
    build = Build(32 if check_level == 1 else 64, check_level, 0, "-O1", "gcc", sanitize=True)
    extra = (f"-DTAU_ASSERT_LEVEL={assert_level}",)
    print(run_program(build_program(build, "test_hooks", tmp_path, extra=extra), [], 60))


def random_seed() -> str:
    """The first seed of random programs: TAU_TEST_SEED, or always the same."""
    return os.environ.get("TAU_TEST_SEED", "1")


@pytest.mark.parametrize("build", THREADED, ids=str)
def test_threads(build: Build, tmp_path: Path) -> None:
    """Four threads make every call of each heap; ThreadSanitizer finds no race."""
    program = build_program(build, "test_threads", tmp_path, extra=("-DTAU_ASSERT_LEVEL=2",))
    print(run_program(program, [random_seed(), "5000"], RUN_SECONDS_MAX))


def test_a_lock_too_few_is_noticed(tmp_path: Path) -> None:
    """As it would be without the lock of one call that only reads; other mutants are slow."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "look without the lock")
    core = mutant.core(tmp_path)
    program = build_program(THREADED[1], "test_threads", tmp_path, core)
    with pytest.raises(AssertionError, match="locks_before"):
        run_program(program, [random_seed(), "5000"], RUN_SECONDS_MAX)


@pytest.mark.parametrize("name", FUZZERS)
@pytest.mark.parametrize("build", QUICK, ids=str)
def test_random_programs(name: str, build: Build, tmp_path: Path) -> None:
    """A quarter of a million random calls, a full walk after each."""
    program = build_program(build, name, tmp_path)
    print(run_program(program, [random_seed(), "250000"], RUN_SECONDS_MAX))


@pytest.mark.slow
@pytest.mark.parametrize("name", FUZZERS)
@pytest.mark.parametrize("build", QUICK, ids=str)
def test_random_programs_for_long(name: str, build: Build, tmp_path: Path) -> None:
    """Ten million random calls."""
    program = build_program(build, name, tmp_path)
    seed = str(int(random_seed()) + 1_000_000)
    print(run_program(program, [seed, "10000000"], 3 * RUN_SECONDS_MAX))


@pytest.mark.slow
@pytest.mark.parametrize("name", FUZZERS)
@pytest.mark.parametrize("word_bits", [32, 64])
def test_fuzzer_finds_nothing(name: str, word_bits: int, tmp_path: Path) -> None:
    """A minute of libFuzzer with both sanitizers, which looks for programs that reach new code."""
    build = Build(word_bits, 2, 1, "-O1", "clang-14", sanitize=True)
    extra = ("-DTAU_FUZZER", "-fsanitize=fuzzer")
    program = build_program(build, name, tmp_path, extra=extra)
    arguments = ["-max_total_time=60", "-max_len=4000", f"-artifact_prefix={tmp_path}/"]
    print(run_program(program, [*arguments, f"-seed={random_seed()}"], RUN_SECONDS_MAX)[-2000:])


@pytest.mark.parametrize("word_bits", [32, 64])
def test_every_state_of_a_small_heap(word_bits: int, tmp_path: Path) -> None:
    """Every sequence of six calls on 1 KiB, each state once; the states' number is printed."""
    program = build_program(Build(word_bits), "explore_tlsf", tmp_path)
    output = run_program(program, ["6", "4000000"], RUN_SECONDS_MAX)
    assert "complete" in output, output
    print(output)


@pytest.mark.slow
@pytest.mark.parametrize("word_bits", [32, 64])
def test_every_state_of_a_small_heap_deeper(word_bits: int, tmp_path: Path) -> None:
    """As many calls deep as ten million states allow."""
    program = build_program(Build(word_bits), "explore_tlsf", tmp_path)
    print(run_program(program, ["12", "10000000"], 3 * RUN_SECONDS_MAX))

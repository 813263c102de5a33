"""The runner: examples, random programs, fuzzing, every state, the model and the costs of each
mechanism of the table in mechanisms.py.

Failing programs show their output, which names the seed.
"""

from __future__ import annotations

import itertools
import os
from functools import cache
from pathlib import Path

import pytest

from core.tests.kit.core_build import (
    CORE,
    NARROW,
    Build,
    build_program,
    cases_of,
    run_program,
    files_with_cases,
    program_of,
)
from core.tests.mechanisms import (
    APART,
    BUILDS,
    FUZZED,
    MECHANISMS,
    PLAIN,
    SANITIZED,
    Mechanism,
    States,
)
from testing.golden import pinned

RUN_SECONDS_MAX = 300
SEED = os.environ.get("TAU_TEST_SEED", "1")
# The whole matrix of what the core's C may depend on.
MATRIX = [
    Build(*each)
    for each in itertools.product(
        (32, 64), (0, 1, 2), (0, 1), ("-O0", "-O2"), ("gcc", "clang-14"), (False, True)
    )
]
# Every check level; with junk fill freed memory is filled under the lock.
THREADED = [
    Build(64, 0, 0, "-O1", "gcc"),
    Build(64, 1, 0, "-O1", "clang-14"),
    Build(32, 2, 1, "-O1", "gcc"),
]


def name_of(value: object) -> str:
    """A mechanism, a build or the numbers of an exploration in a test's name."""
    if isinstance(value, Mechanism):
        return value.name
    return "-".join(value.words()) if isinstance(value, States) else str(value)


def mechanisms(having: str) -> list[Mechanism]:
    """Those whose row has something in the column HAVING."""
    return [each for each in MECHANISMS if getattr(each, having)]


# ---- Examples -----------------------------------------------------------------------------------


@cache
def printed(build: Build) -> str:
    """Output of all cases in BUILD, even if some fail."""
    try:
        return run_program(program_of(build), ["examples"], RUN_SECONDS_MAX)
    except AssertionError as error:
        return str(error)


def every_case() -> list[object]:
    """A build and a case that makes sense in it."""
    return [
        pytest.param(build, case, id=f"{case}-{build}")
        for build in BUILDS
        for path in files_with_cases(build)
        for case in cases_of(path)
    ]


@pytest.mark.parametrize(("build", "case"), every_case())
def test_example(build: Build, case: str) -> None:
    """A case of a C file passes; all of a build run in one program."""
    output = printed(build)
    assert f"\nok   {case}\n" in output, output[-5000:]


@pytest.mark.slow
@pytest.mark.parametrize("build", [*MATRIX, *APART], ids=str)
def test_examples_in_every_build(build: Build) -> None:
    """All cases."""
    print(run_program(program_of(build), ["examples"], RUN_SECONDS_MAX))


def test_inits_with_narrow_addresses() -> None:
    """No memory leads around the end of an address space of 32 bits either."""
    files = (CORE / "tests" / "test_inits.c",)
    print(run_program(program_of(Build(32), files, NARROW), ["examples"], RUN_SECONDS_MAX))


def test_scans_by_the_small_table() -> None:
    """The scans of a build for size, without an instruction for them."""
    files = (CORE / "tests" / "test_bits.c",)
    build = Build(64, optimize="-Os", sanitize=True, defines=("TAU_BITS_SCAN=0",))
    print(run_program(program_of(build, files), ["examples"], RUN_SECONDS_MAX))


@pytest.mark.parametrize("assert_level", [1, 2])
@pytest.mark.parametrize("check_level", [0, 1, 2])
def test_hooks_and_wrong_pointers(check_level: int, assert_level: int) -> None:
    """The hook of refusals tells of each once; no wrong pointer trips an assertion."""
    defines = (f"TAU_ASSERT_LEVEL={assert_level}",)
    build = Build(32 if check_level == 1 else 64, check_level, 0, "-O1", "gcc", True, defines)
    files = (CORE / "tests" / "test_hooks.c",)
    print(run_program(program_of(build, files), ["examples"], RUN_SECONDS_MAX))


def test_spaces_of_two_words() -> None:
    """Spaces of at most two words of the region tree."""
    files = (CORE / "tests" / "pages" / "test_vspace.c",)
    build = Build(64, sanitize=True, defines=("TAU_SPACE_PAGES_LOG2_MAX=6",))
    print(run_program(program_of(build, files), ["examples"], RUN_SECONDS_MAX))


# ---- Random programs ----------------------------------------------------------------------------


@pytest.mark.parametrize("build", [each for each in BUILDS if each.sanitize], ids=str)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=name_of)
def test_random_calls(mechanism: Mechanism, build: Build) -> None:
    """Right calls and wrong ones, full walks on the way."""
    arguments = ["random", mechanism.name, SEED, str(mechanism.calls)]
    print(run_program(program_of(build), arguments, RUN_SECONDS_MAX))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=name_of)
def test_random_calls_for_long(mechanism: Mechanism) -> None:
    """Millions of calls with other seeds."""
    seed, calls = str(int(SEED) + 1_000_000), str(mechanism.calls_for_long)
    arguments = ["random", mechanism.name, seed, calls]
    print(run_program(program_of(SANITIZED), arguments, 3 * RUN_SECONDS_MAX))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=name_of)
def test_fuzzer_finds_nothing(mechanism: Mechanism, tmp_path: Path) -> None:
    """A minute of libFuzzer with both sanitizers, which looks for programs that reach new code."""
    program = program_of(FUZZED, extra=("-DTAU_FUZZER", "-fsanitize=fuzzer"))
    arguments = ["-max_total_time=60", "-max_len=4000", f"-artifact_prefix={tmp_path}/"]
    environment = {"TAU_FUZZ_MECHANISM": mechanism.name}
    output = run_program(program, [*arguments, f"-seed={SEED}"], RUN_SECONDS_MAX, environment)
    print(output[-2000:])


# ---- Every state --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "states"),
    [
        pytest.param(
            mechanism,
            states,
            id=f"{mechanism.name}-{name_of(states)}-{states.build.word_bits}",
            marks=[pytest.mark.slow] if states.is_slow else [],
        )
        for mechanism in MECHANISMS
        for states in mechanism.states
    ],
)
def test_every_state(mechanism: Mechanism, states: States) -> None:
    """Every state that calls can reach, and every call in each; their number is printed."""
    arguments = ["explore", mechanism.name, *states.words()]
    output = run_program(program_of(states.build), arguments, 3 * RUN_SECONDS_MAX)
    print(output)
    assert states.may_stop or "complete" in output


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_every_memory_of_four_pages(step: int, tmp_path: Path) -> None:
    """Every state of arrays, cache and tree of a space, from memories; each call in each.

    Check starts from every seventh memory, check-all from all.
    """
    program = build_program(PLAIN, "explore_vspace", tmp_path)
    output = run_program(program, [str(step)], RUN_SECONDS_MAX)
    print(output)
    assert "complete" in output


# ---- The model ----------------------------------------------------------------------------------


@pytest.mark.parametrize("word_bits", [32, 64])
@pytest.mark.parametrize("mechanism", mechanisms("replay"), ids=name_of)
def test_the_model_agrees(mechanism: Mechanism, word_bits: int, tmp_path: Path) -> None:
    """A run's log is repeated by the model; every status that there is must have occurred."""
    assert mechanism.replay
    build = PLAIN if word_bits == 64 else BUILDS[2]
    calls = mechanism.modeled if word_bits == 64 else mechanism.modeled // 2
    log = tmp_path / "log"
    arguments = ["random", mechanism.name, SEED, str(calls)]
    print(run_program(program_of(build), arguments, RUN_SECONDS_MAX, {"TAU_FUZZ_LOG": str(log)}))
    replay = mechanism.replay()
    replay.run(log)
    print(dict(replay.seen))
    assert not replay.missing()


# ---- Costs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "isa"),
    [
        pytest.param(each, isa, id=f"{each.name}-{isa}")
        for each in mechanisms("costs")
        for isa in each.costs.isas
    ],
)
def test_costs_are_pinned(mechanism: Mechanism, isa: str) -> None:
    """One instruction more on a longest path fails, or on the longest that is taken.

    After a wanted change: TAU_UPDATE_GOLDEN=1.
    """
    assert mechanism.costs
    found = mechanism.costs.costs(isa)
    assert found == pinned(mechanism.costs.golden, {isa: found})[isa]


@pytest.mark.parametrize("mechanism", mechanisms("costs"), ids=name_of)
def test_documents_state_the_costs(mechanism: Mechanism) -> None:
    """Headers and design pages state exactly the pinned costs."""
    assert mechanism.costs
    if mechanism.costs.documented:
        mechanism.costs.documented(pinned(mechanism.costs.golden, {}))


# ---- Threads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", THREADED, ids=str)
def test_threads(build: Build, tmp_path: Path) -> None:
    """Four threads make every call of each heap; ThreadSanitizer finds no race."""
    program = build_program(build, "test_threads", tmp_path, extra=("-DTAU_ASSERT_LEVEL=2",))
    print(run_program(program, [SEED, "5000"], RUN_SECONDS_MAX))

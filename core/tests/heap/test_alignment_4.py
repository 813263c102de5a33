"""TLSF, budgeted heap and pools with an alignment of one word, 4 bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.tests.kit.core_build import (
    ALIGNMENT_4,
    ASSERTS,
    ROOT,
    Build,
    CompileError,
    compile_c,
    files_with_cases,
    program_of,
    run_program,
)
from core.tests.mechanisms import MECHANISMS, Mechanism

SEED = "1"
RUN_SECONDS_MAX = 600
PLAIN = [Build(32, level, 0, "-O2", "gcc", defines=ALIGNMENT_4) for level in (0, 1, 2)]
CHECKED = [
    Build(32, level, int(level == 2), "-O1", "gcc", True, (ASSERTS, *ALIGNMENT_4))
    for level in (0, 1, 2)
]
HEAPS = [each for each in MECHANISMS if each.name in ("tlsf", "budget", "pools")]


@pytest.mark.parametrize("build", [*PLAIN, *CHECKED], ids=str)
def test_examples(build: Build) -> None:
    """Every case of the heaps, with the sizes that the specification gives this alignment."""
    files = [path for path in files_with_cases(build) if path.parent.name == "heap"]
    assert len(files) >= 5
    for path in files:
        print(run_program(program_of(build), ["examples", f"{path.stem}."], RUN_SECONDS_MAX))


@pytest.mark.parametrize("build", CHECKED, ids=str)
@pytest.mark.parametrize("mechanism", HEAPS, ids=lambda each: each.name)
def test_random_calls_agree_with_the_model(
    mechanism: Mechanism, build: Build, tmp_path: Path
) -> None:
    """Random programs with full walks; the model repeats a part of them."""
    program, log = program_of(build), tmp_path / "log"
    print(run_program(program, ["random", mechanism.name, SEED, "100000"], RUN_SECONDS_MAX))
    calls, logged = str(mechanism.modeled // 2), {"TAU_FUZZ_LOG": str(log)}
    print(run_program(program, ["random", mechanism.name, SEED, calls], RUN_SECONDS_MAX, logged))
    replay = mechanism.replay()
    replay.run(log)
    print(dict(replay.seen))
    assert not replay.missing()


@pytest.mark.slow
@pytest.mark.parametrize("build", CHECKED, ids=str)
@pytest.mark.parametrize("mechanism", HEAPS, ids=lambda each: each.name)
def test_random_calls_for_long(mechanism: Mechanism, build: Build) -> None:
    """Millions of calls with other seeds."""
    arguments = ["random", mechanism.name, "1000001", "5000000"]
    print(run_program(program_of(build), arguments, 3 * RUN_SECONDS_MAX))


@pytest.mark.parametrize("depth", [5, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("build", PLAIN, ids=str)
def test_every_state(depth: int, build: Build) -> None:
    """Every state of a small heap that calls can reach, and every call in each."""
    output = run_program(
        program_of(build), ["explore", "tlsf", str(depth), "4000000"], RUN_SECONDS_MAX
    )
    print(output)
    assert "complete" in output


@pytest.mark.parametrize(
    ("defines", "message"),
    [
        (("TAU_ALIGNMENT=4",), "too small for a double"),
        (("TAU_ALIGNMENT=2", "TAU_ALIGNMENT_BELOW_MAX=1"), "TAU_ALIGNMENT must be"),
        (("TAU_ALIGNMENT=16", "TAU_ALIGNMENT_BELOW_MAX=1"), "TAU_ALIGNMENT must be"),
    ],
)
@pytest.mark.parametrize("language", ["c", "c++"])
def test_other_alignments_are_refused(
    language: str, defines: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    """An alignment below the compiler's largest needs a second macro; only 4 exists besides 8."""
    source = tmp_path / ("user.c" if language == "c" else "user.cpp")
    source.write_text('#include "core/tlsf.h"\nint main(void) { return 0; }\n')
    build = Build(32, defines=defines)
    if language == "c++":
        command = ["g++", "-fsyntax-only", "-I.", "-DTAU_WORD_BITS=32"]
        command += [*(f"-D{each}" for each in defines), str(source)]
        with pytest.raises(AssertionError, match=message):
            run_program(Path("/usr/bin/env"), ["-C", str(ROOT), *command], RUN_SECONDS_MAX)
        return
    with pytest.raises(CompileError, match=message):
        compile_c(build, [source], tmp_path / "user", ["-I."])


def test_alignment_4_of_64_bit_words_is_refused(tmp_path: Path) -> None:
    """A word there is larger than 4 bytes."""
    source = tmp_path / "user.c"
    source.write_text('#include "core/tlsf.h"\nint main(void) { return 0; }\n')
    with pytest.raises(CompileError, match="TAU_ALIGNMENT must be"):
        compile_c(Build(64, defines=ALIGNMENT_4), [source], tmp_path / "user", ["-I."])


def test_heaps_on_pages_are_refused(tmp_path: Path) -> None:
    """Their blocks meet within a page only with two words of alignment."""
    with pytest.raises(CompileError, match="leave core/page_heap.c out"):
        compile_c(PLAIN[0], [ROOT / "core/page_heap.c"], tmp_path / "user", ["-I."])


def test_heaps_of_two_alignments_do_not_link(tmp_path: Path) -> None:
    """A budgeted heap of one alignment, a TLSF of the other: the constant's name is missing."""
    sources = [ROOT / "core/budget.c", ROOT / "core/tlsf.c"]
    user = tmp_path / "user.c"
    user.write_text('#include "core/budget.h"\nint main(void) { return 0; }\n')
    compile_c(PLAIN[1], [*sources, user], tmp_path / "user", ["-I."])
    other = tmp_path / "tlsf.o"
    compile_c(Build(32, 1), [sources[1]], other, ["-I.", "-r", "-nostdlib"])
    with pytest.raises(CompileError, match="tau_tlsf_built_word32_align4_check1_fill0_speed"):
        compile_c(PLAIN[1], [sources[0], user], tmp_path / "user", ["-I.", str(other)])

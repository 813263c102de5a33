"""Builds and runs the C programs that test hierarchical tables and the plain page table, and
repeats what their fuzzers did in the Python models.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Set
from pathlib import Path
from typing import Any

import pytest

from core.tests.kit.core_build import CORE, Build, compile_c, run_program
from core.tests.mutants.mutate import Mutant
from tautochrone.facts import status_format
from tautochrone.targets.sources import CORE_FILES

RUN_SECONDS_MAX = 300
SEED = os.environ.get("TAU_TEST_SEED", "1")
ASSERTS = "-DTAU_ASSERT_LEVEL=2"
SANITIZED = Build(64, 1, 0, "-O1", "gcc", sanitize=True)
BUILDS = [SANITIZED, Build(32, 1, 0, "-O2", "gcc"), Build(32, 1, 0, "-O0", "clang-14")]


def build(
    build_of: Build, kind: str, mechanism: str, folder: Path, core: Path = CORE, *extra: str
) -> Path:
    """The program core/tests/tables/KIND_MECHANISM.c with the full walks, in FOLDER.

    A kind is "test", "fuzz" or, of the hierarchy, "explore".
    """
    name = f"{kind}_{mechanism}"
    tests = [f"tables/{name}.c", f"checks/check_{mechanism}.c", "checks/check_frames.c"]
    sources = [core / "tests" / source for source in tests]
    sources += [core.parent / source for source in CORE_FILES[mechanism]]
    return compile_c(build_of, sources, folder / name, ["-I.", *extra], core.parent)


def examples_pass(build_of: Build, mechanism: str, folder: Path) -> None:
    """The C program's own tests. Raises AssertionError, as all that follow."""
    program = build(build_of, "test", mechanism, folder, CORE, ASSERTS)
    print(run_program(program, [], RUN_SECONDS_MAX))


def random_calls_pass(mechanism: str, arm: bool, folder: Path) -> None:
    """Three hundred thousand calls against the naive account; ARM: bits counted from the top."""
    extra = ("-D__arm__",) if arm else ()
    program = build(SANITIZED, "fuzz", mechanism, folder, CORE, ASSERTS, *extra)
    print(run_program(program, [SEED, "300000"], RUN_SECONDS_MAX))


def fuzzer_finds_nothing(mechanism: str, folder: Path) -> None:
    """Half a minute of libFuzzer, which looks for programs that reach new code."""
    extra = (ASSERTS, "-DTAU_FUZZER", "-fsanitize=fuzzer")
    clang = Build(64, 1, 0, "-O1", "clang-14", sanitize=True)
    program = build(clang, "fuzz", mechanism, folder, CORE, *extra)
    arguments = ["-max_total_time=30", "-max_len=4000", f"-artifact_prefix={folder}/"]
    print(run_program(program, [*arguments, f"-seed={SEED}"], RUN_SECONDS_MAX)[-2000:])


def survives(mutant: Mutant, mechanism: str, folder: Path) -> bool:
    """Whether both programs of MECHANISM pass in spite of MUTANT, asserts on.

    Raises StaleMutant, or CompileError if the change is no C.
    """
    core = mutant.core(folder)
    for kind, arguments in (("test", []), ("fuzz", ["1", "60000"])):
        program = build(SANITIZED, kind, mechanism, folder, core)
        try:
            run_program(program, arguments, RUN_SECONDS_MAX)
        except AssertionError:
            return False
    return True


class Replay:
    """Repeats a fuzzer's log, line by line. A subclass has a method line_X for lines "X …"."""

    def __init__(self) -> None:
        """Nothing is made yet: a log starts with a machine."""
        self.seen: Counter[str] = Counter()

    def expect(self, kind: str, status: str, expected: int) -> None:
        """The model's STATUS is what the log says."""
        assert status == status_format.NAMES[expected], (status, status_format.NAMES[expected])
        self.seen[f"{kind} {status}"] += 1

    def agrees(self, mechanism: str, statuses: Set[str], folder: Path) -> None:
        """Forty thousand calls of the fuzzer, repeated; every one of STATUSES occurs."""
        program = build(Build(32, 1, 0, "-O2", "gcc"), "fuzz", mechanism, folder)
        log = folder / "log"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TAU_FUZZ_LOG", str(log))
            print(run_program(program, [SEED, "40000"], RUN_SECONDS_MAX))
        self.run(log)
        print(dict(self.seen))
        assert not statuses - set(self.seen)

    def run(self, log: Path) -> None:
        """All of a log. Raises AssertionError where the model says something else."""
        for number, line in enumerate(log.read_text().splitlines(), 1):
            kind, *words = line.split()
            method: Any = getattr(self, f"line_{kind}")
            try:
                method(*map(int, words))
            except AssertionError as error:
                raise AssertionError(f"line {number}: {line}: {error}") from error

"""Builds and runs the C programs that test hierarchical tables and the plain page table, and
repeats what their fuzzers did in the Python models.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

from core.tests.kit.core_build import CORE, Build, compile_c, run_program
from core.tests.mutants.mutate import Mutant
from tautochrone.facts.status_format import NAMES as STATUS
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
    sources += [core / source for source in CORE_FILES[mechanism]]
    return compile_c(build_of, sources, folder / name, [f"-I{core.parent}", *extra])


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
        assert status == STATUS[expected], (status, STATUS[expected])
        self.seen[f"{kind} {status}"] += 1

    def run(self, log: Path) -> None:
        """All of a log. Raises AssertionError where the model says something else."""
        for number, line in enumerate(log.read_text().splitlines(), 1):
            kind, *words = line.split()
            method: Any = getattr(self, f"line_{kind}")
            try:
                method(*map(int, words))
            except AssertionError as error:
                raise AssertionError(f"line {number}: {line}: {error}") from error

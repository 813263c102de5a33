"""Small wrong changes of the core that no operator of testing/operators.py makes.

mutants.toml has them by group: a mechanism of core/tests/mechanisms.py, the heaps on pages, or a
port, whose tests try the mutants of their own group. testing/mutate.py measures with operators.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from core.tests.kit.core_build import (
    CORE,
    CompileError,
    build_program,
    compile_tests,
    run_program,
)
from core.tests.mechanisms import MECHANISMS, SANITIZED, SANITIZED_32, Mechanism
from testing import mutants

RUN_SECONDS_MAX = 60  # it is to end early
CALLS = "20000"
PAGE_HEAP = [
    ("test_page_heap", []),
    ("test_break_heap", []),
    ("fuzz_forget", ["1", CALLS]),
    ("fuzz_page_heap", ["1", "8000"]),
]


@dataclass(frozen=True)
class Mutant(mutants.Mutant):
    """In the core's FILE, named without its folder, OLD becomes NEW.

    `on_qemu`: only a real MMU can notice. `is_step`: of the order of a load's steps.
    """

    side: ClassVar[str] = "core"
    on_qemu: bool = False
    is_step: bool = False

    @property
    def path(self) -> str:
        """The file's path in the repository; tests are not looked through."""
        found = [
            each for each in CORE.rglob(self.file) if "tests" not in each.relative_to(CORE).parts
        ]
        found += (mutants.ROOT / "peers/conventional").glob(self.file)
        assert len(found) == 1, f"{self.name}: {self.file} is {len(found)} files"
        return str(found[0].relative_to(mutants.ROOT))

    def core(self, folder: Path) -> Path:
        """A copy of the folder core in FOLDER with the change. Raises StaleMutant."""
        return self.applied(folder, ["core", "peers"]) / "core"


GROUPS = {
    group: [Mutant(**row) for row in rows]
    for group, rows in tomllib.loads(Path(__file__).with_name("mutants.toml").read_text()).items()
}
MUTANTS = [mutant for group in GROUPS.values() for mutant in group]


def is_noticed(group: str, mutant: Mutant, folder: Path) -> bool:
    """Whether a test of GROUP fails for MUTANT, or the compiler sees it. Raises StaleMutant."""
    core = mutant.core(folder)
    try:
        if group == "page_heap":
            _run_page_heap(core, folder)
        else:
            _run_mechanism(next(each for each in MECHANISMS if each.name == group), core, folder)
    except (AssertionError, CompileError):
        return True
    return False


def _run_mechanism(mechanism: Mechanism, core: Path, folder: Path) -> None:
    """Examples, random calls, states and the model. Raises AssertionError when one fails.

    Last the examples without junk, where free looks at its neighbors' links as it merges.
    """
    program = compile_tests(SANITIZED, folder / "tests", core=core)
    log = {"TAU_FUZZ_LOG": str(folder / "log")} if mechanism.replay else {}
    random_calls = ["random", mechanism.name, "1", CALLS]
    run_program(program, ["examples"], RUN_SECONDS_MAX)
    run_program(program, random_calls, RUN_SECONDS_MAX, log)
    if mechanism.replay:
        mechanism.replay().run(folder / "log")
    for states in mechanism.states[:1]:
        if states.build.word_bits == SANITIZED.word_bits:
            run_program(program, ["explore", mechanism.name, *states.words()], RUN_SECONDS_MAX)
    plain = compile_tests(SANITIZED_32, folder / "plain", core=core)
    run_program(plain, ["examples"], RUN_SECONDS_MAX)


def _run_page_heap(core: Path, folder: Path) -> None:
    """The programs of the heaps on pages. Raises AssertionError when one fails."""
    for name, arguments in PAGE_HEAP:
        program = build_program(SANITIZED, name, folder, core)
        run_program(program, arguments, RUN_SECONDS_MAX)

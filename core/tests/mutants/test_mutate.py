"""The tests of the core notice every one of some hundred small wrong changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.tests.kit.core_build import Build, build_program, run_program
from core.tests.mutants.mutate import GROUPS, MUTANTS, Mutant, is_noticed

PORTS = ("sv39", "sv39_code")  # they have tests of their own


def test_every_mutant_applies() -> None:
    """Each text is in the core exactly once, so that the slow test cannot rot unseen."""
    for mutant in MUTANTS:
        assert mutant.text()


def test_a_lock_too_few_is_noticed(tmp_path: Path) -> None:
    """As it would be without the lock of one call that only reads; other mutants are slow."""
    mutant = next(each for each in GROUPS["tlsf"] if each.name == "look without the lock")
    build = Build(64, 1, 0, "-O1", "clang-14")
    program = build_program(build, "test_threads", tmp_path, mutant.core(tmp_path))
    with pytest.raises(AssertionError, match="locks_before"):
        run_program(program, ["1", "5000"], 300)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "mutant"),
    [
        pytest.param(group, mutant, id=f"{group}-{mutant.name.replace(' ', '-')}")
        for group, mutants in GROUPS.items()
        for mutant in mutants
        if group not in PORTS and mutant.name != "look without the lock"
    ],
)
def test_no_mutant_survives(group: str, mutant: Mutant, tmp_path: Path) -> None:
    """At least one test fails, or the compiler sees it."""
    assert is_noticed(group, mutant, tmp_path), f"no test notices: {mutant}"

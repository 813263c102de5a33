"""Each small wrong change of the kernel makes a test on the tile fail, in a copy that has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel.tests.host.test_mutants import KILLED, LIVES, NOT_BUILT, outcome
from kernel.tests.mutants.mutants import ALL, GROUPS
from testing.mutants import Group, Mutant

COPIED = ("kernel", "hw", "core", "targets", "model", "facts", "testing", "pyproject.toml")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "mutant"),
    [pytest.param(*each, id=f"{each[0].name}: {each[1].name}") for each in ALL],
)
def test_all_mutants_are_killed(group: Group, mutant: Mutant, tmp_path: Path) -> None:
    """Memory, schedule, faults, registers and the gate, one at a time."""
    code, said = outcome(mutant.applied(tmp_path, COPIED), group)
    is_killed = code == KILLED and not any(word in said for word in NOT_BUILT)
    assert is_killed, f"{mutant.name} lives\n{said[-3000:]}"


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_without_a_mutant_nothing_fails(group: Group, tmp_path: Path) -> None:
    """What kills the mutants is the mutant."""
    first = group.mutants[0]
    none = Mutant(first.name, first.file, first.old, first.old)
    code, said = outcome(none.applied(tmp_path, COPIED), group)
    assert code == LIVES, said[-3000:]


def test_every_mutant_applies_once() -> None:
    """Each text is there exactly once, and no change is listed twice."""
    changes = {(mutant.file, mutant.old, mutant.new) for _, mutant in ALL}
    assert len(changes) == len(ALL)
    for _, mutant in ALL:
        assert mutant.old != mutant.new and mutant.text(), mutant.name

"""Each small wrong change makes a test fail, in a copy that has the change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernel.tests.host.mutants import ALL, GROUPS
from testing.mutants import Group, Mutant

COPIED = ("kernel", "model", "facts", "testing", "pyproject.toml")
SECONDS_MAX = 300
KILLED, LIVES = 1, 0
NOT_BUILT = (": error: ", "ImportError", "no tests ran")


def outcome(folder: Path, group: Group) -> tuple[int, str]:
    """Run the group's tests in FOLDER: pytest's exit code and words. A test that hangs fails."""
    line = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider"]
    environment = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
    environment["PYTHONPATH"] = str(folder)
    try:
        done = subprocess.run(
            [*line, *group.selection],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return KILLED, "no end"
    return done.returncode, done.stdout + done.stderr


def chosen(quick: bool) -> list[object]:
    """The mutants of `make check`, or the others."""
    return [
        pytest.param(group, mutant, id=f"{group.name}: {mutant.name}")
        for group, mutant in ALL
        if quick == (mutant in group.mutants[: group.quick])
    ]


def killed(folder: Path, group: Group, mutant: Mutant) -> None:
    """Raise AssertionError if the mutant lives."""
    code, said = outcome(mutant.applied(folder, COPIED), group)
    # A decoder that stores outside may end the tests' process with a signal.
    is_killed = (code == KILLED or code < 0) and not any(word in said for word in NOT_BUILT)
    assert is_killed, f"{mutant.name} lives\n{said[-3000:]}"


@pytest.mark.parametrize(("group", "mutant"), chosen(quick=True))
def test_mutants_are_killed(group: Group, mutant: Mutant, tmp_path: Path) -> None:
    """A few of them; the slow test tries all others."""
    killed(tmp_path, group, mutant)


@pytest.mark.slow
@pytest.mark.parametrize(("group", "mutant"), chosen(quick=False))
def test_all_mutants_are_killed(group: Group, mutant: Mutant, tmp_path: Path) -> None:
    """Bounds, tables, constants and counters, one at a time."""
    killed(tmp_path, group, mutant)


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

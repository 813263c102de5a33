"""Each wrong change of mutants.toml makes a test fail, in a copy that has the change."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from testing.mutants import Mutant

SECONDS_MAX = 300
KILLED, LIVES = 1, 0
NOT_BUILT = (": error: ", "ImportError", "no tests ran")
GROUPS: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("mutants.toml").read_text(encoding="utf-8")
)["group"]


def mutants(group: dict[str, Any]) -> list[Mutant]:
    """The mutants of a group."""
    return [
        Mutant(each["name"], f"{group['folder']}/{each['file']}", each["old"], each["new"])
        for each in group["mutant"]
    ]


def chosen(quick: bool) -> list[object]:
    """The mutants of `make check`, or the others, each with its group."""
    return [
        pytest.param(group, mutant, id=f"{group['name']}: {mutant.name}")
        for group in GROUPS
        for number, mutant in enumerate(mutants(group))
        if quick == (number < group["quick"])
    ]


def outcome(folder: Path, group: dict[str, Any]) -> tuple[int, str]:
    """Run the group's tests in FOLDER: pytest's exit code and words. A test that hangs fails."""
    line = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider"]
    line += group["tests"] if group["slow"] else ["-m", "not slow", *group["tests"]]
    environment = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
    paths = [str(folder), os.environ.get("PYTHONPATH")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    try:
        done = subprocess.run(
            line,
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


def killed(folder: Path, group: dict[str, Any], mutant: Mutant) -> None:
    """Raise AssertionError if the mutant lives."""
    code, said = outcome(mutant.applied(folder, group["copied"]), group)
    # A decoder that stores outside may end the tests' process with a signal.
    is_killed = (code == KILLED or code < 0) and not any(word in said for word in NOT_BUILT)
    assert is_killed, f"{mutant.name} lives\n{said[-3000:]}"


@pytest.mark.parametrize(("group", "mutant"), chosen(quick=True))
def test_mutants_are_killed(group: dict[str, Any], mutant: Mutant, tmp_path: Path) -> None:
    """A few of them; the slow test tries all others."""
    killed(tmp_path, group, mutant)


@pytest.mark.slow
@pytest.mark.parametrize(("group", "mutant"), chosen(quick=False))
def test_all_mutants_are_killed(group: dict[str, Any], mutant: Mutant, tmp_path: Path) -> None:
    """Bounds, tables, memory, schedule, faults, registers and the gate, one at a time."""
    killed(tmp_path, group, mutant)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group["name"])
def test_without_a_mutant_nothing_fails(group: dict[str, Any], tmp_path: Path) -> None:
    """What kills the mutants is the mutant."""
    first = mutants(group)[0]
    none = Mutant(first.name, first.file, first.old, first.old)
    code, said = outcome(none.applied(tmp_path, group["copied"]), group)
    assert code == LIVES, said[-3000:]


def test_every_mutant_applies_once() -> None:
    """Each text is there exactly once, and no change is listed twice."""
    every = [mutant for group in GROUPS for mutant in mutants(group)]
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in every}) == len(every)
    for mutant in every:
        assert mutant.old != mutant.new and mutant.text(), mutant.name

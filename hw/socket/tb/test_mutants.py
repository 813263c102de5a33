"""Each mutant of the hardware makes a test of its module fail.

Each unit has its own mutants (hw/*/mutants.py). A mutant is a copy with a small wrong change. The
tests that must notice it run in that copy, in a separate process. The mutant is killed if they fail
for another reason than a failed build.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hw.build import HW
from testing.mutants import Group, Mutant

COPIED = ("hw", "model", "core", "peers", "targets", "facts", "testing", "pyproject.toml")
MODULES = [
    importlib.import_module(f"hw.{path.parent.name}.mutants")
    for path in sorted(HW.glob("*/mutants.py"))
]
GROUPS: list[Group] = [group for module in MODULES for group in module.GROUPS]
EQUIVALENT = [mutant for module in MODULES for mutant in getattr(module, "EQUIVALENT", [])]
SECONDS_MAX = 900
NOT_BUILT = ("%Error: Exiting due to", "BuildError", "make: ***", "ImportError", "no tests ran")


def outcome(folder: Path, group: Group) -> tuple[int, str]:
    """Run the tests of GROUP in FOLDER; return pytest's exit code and what was printed."""
    line = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider"]
    environment = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
    environment |= {
        "PYTHONPATH": str(folder),
        "TAU_TILE_CACHE": str(folder / "build" / "tile"),
        "TAU_TEST_SEED": os.environ.get("TAU_TEST_SEED", "1"),
    }
    done = subprocess.run(
        [*line, *group.selection],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    return done.returncode, done.stdout + done.stderr


def chosen(quick: bool) -> list[object]:
    """The mutants of `make check`, or the others."""
    return [
        pytest.param(group, mutant, id=f"{group.name}: {mutant.name}")
        for group in GROUPS
        for number, mutant in enumerate(group.mutants)
        if quick == (number < group.quick)
    ]


def killed(folder: Path, group: Group, mutant: Mutant) -> None:
    """Raise AssertionError if the mutant lives."""
    code, said = outcome(mutant.applied(folder, COPIED), group)
    is_killed = code == 1 and not any(word in said for word in NOT_BUILT)
    assert is_killed, f"{mutant.name} lives\n{said[-3000:]}"


@pytest.mark.parametrize("group, mutant", chosen(quick=True))
def test_mutants_are_killed(group: Group, mutant: Mutant, tmp_path: Path) -> None:
    """A few of them; the slow test tries all others."""
    killed(tmp_path, group, mutant)


@pytest.mark.slow
@pytest.mark.parametrize("group, mutant", chosen(quick=False))
def test_all_mutants_are_killed(group: Group, mutant: Mutant, tmp_path: Path) -> None:
    """Comparisons, orders, causes, counters, one at a time."""
    killed(tmp_path, group, mutant)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_without_a_mutant_nothing_fails(group: Group, tmp_path: Path) -> None:
    """What kills the mutants is the mutant."""
    first = group.mutants[0]
    none = Mutant(first.name, first.file, first.old, first.old)
    code, said = outcome(none.applied(tmp_path, COPIED), group)
    assert code == 0 and " passed" in said, said[-3000:]


def test_there_are_enough() -> None:
    """Each once, and each where it says."""
    everything = [mutant for group in GROUPS for mutant in group.mutants]
    changes = {(mutant.file, mutant.old, mutant.new) for mutant in everything}
    assert len(everything) >= 80 and len(changes) == len(everything)
    for mutant in (*everything, *EQUIVALENT):
        assert mutant.old != mutant.new and mutant.text(), mutant.name

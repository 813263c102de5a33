"""Each small wrong change of the hardware makes a test of its module fail.

A mutant is a copy of hw/ with one text replaced (mutants.py); the module's own tests run in it, in
a process of their own. It is killed if they fail in another way than by not being built.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hw.build import HW
from hw.tile.tb.mutants import EQUIVALENT, GROUPS, Mutant

ROOT = HW.parent
COPIED = ("hw", "model", "core", "iface")
TESTS = {
    "rtmmu": (
        "hw/rtmmu/tb/test_rtmmu.py::test_rtmmu",
        "hw/rtmmu/tb/test_proofs.py::test_definition_and_cycles",
    ),
    "region-tlb": ("hw/rtmmu/tb/test_rtmmu.py::test_rtmmu_tlb",),
    "pagetable": ("hw/pagetable/tb/test_pagetable_unit.py",),
    "composable": ("hw/composable/tb/test_composable.py::test_sizes_are_their_model",),
    "tlb": ("hw/tlb/tb/test_tlb.py::test_shape",),
    "port": ("hw/tile/tb/test_port.py::test_port_answers_in_order",),
    "tile": (
        "hw/tile/tb/test_bad_input.py::test_the_sides_of_the_window[large]",
        "hw/tile/tb/test_bad_input.py::test_handlers_that_fault",
        "hw/tile/tb/test_tile.py::test_faults_are_precise_and_restartable",
        "hw/tile/tb/test_tile.py::test_random_accesses_with_interrupts_and_stalls",
        "hw/tile/tb/test_tile.py::test_a_fault_costs_six_cycles_and_its_lookup",
        "hw/tile/tb/test_units.py::test_two_tiles_side_by_side",
    ),
}
QUICK = {"rtmmu": 2, "region-tlb": 1, "pagetable": 1}  # so many of each are in `make check`
SECONDS_MAX = 900
NOT_BUILT = ("%Error: Exiting due to", "BuildError", "make: ***", "ImportError", "no tests ran")


def with_mutant(folder: Path, mutant: Mutant) -> None:
    """Make a copy of what the tests need in FOLDER, and change it."""
    ignored = shutil.ignore_patterns("__pycache__", "build", "*.pyc")
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    _, file, old, new = mutant
    text = (folder / "hw" / file).read_text()
    assert text.count(old) == 1, f"{file} has {text.count(old)} times: {old}"
    (folder / "hw" / file).write_text(text.replace(old, new))


def verdict(folder: Path, tests: tuple[str, ...]) -> tuple[bool, str]:
    """Whether a test fails in FOLDER as it should, and what was printed."""
    line = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-m", "not slow"]
    line += tests
    environment = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
    environment |= {
        "PYTHONPATH": str(folder),
        "TAU_TILE_CACHE": str(folder / "build" / "tile"),
        "TAU_TEST_SEED": os.environ.get("TAU_TEST_SEED", "1"),
    }
    done = subprocess.run(
        line, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX
    )
    output = done.stdout + done.stderr
    return done.returncode == 1 and not any(word in output for word in NOT_BUILT), output


def chosen(quick: bool) -> list[object]:
    """The mutants of `make check`, or the others."""
    return [
        pytest.param(group, mutant, id=f"{group}: {mutant[0]}")
        for group, mutants in GROUPS.items()
        for number, mutant in enumerate(mutants)
        if quick == (number < QUICK.get(group, 0))
    ]


def killed(folder: Path, group: str, mutant: Mutant) -> None:
    """Raise AssertionError if the mutant lives."""
    with_mutant(folder, mutant)
    fails, output = verdict(folder, TESTS[group])
    assert fails, f"no test fails: {mutant[0]}\n{output[-3000:]}"


@pytest.mark.parametrize("group, mutant", chosen(quick=True))
def test_mutants_are_killed(group: str, mutant: Mutant, tmp_path: Path) -> None:
    """A few of them; the slow test tries all others."""
    killed(tmp_path, group, mutant)


@pytest.mark.slow
@pytest.mark.parametrize("group, mutant", chosen(quick=False))
def test_all_mutants_are_killed(group: str, mutant: Mutant, tmp_path: Path) -> None:
    """Comparisons, orders, causes, counters, one at a time."""
    killed(tmp_path, group, mutant)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_without_a_mutant_nothing_fails(group: str, tmp_path: Path) -> None:
    """What kills the mutants is the mutant."""
    what, file, old, _ = GROUPS[group][0]
    with_mutant(tmp_path, (what, file, old, old))
    fails, output = verdict(tmp_path, TESTS[group])
    assert not fails and " passed" in output, output[-3000:]


def test_there_are_enough() -> None:
    """Each once, and each where it says."""
    everything = [mutant for mutants in GROUPS.values() for mutant in mutants]
    assert len(everything) >= 80 and len({mutant[1:] for mutant in everything}) == len(everything)
    for what, file, old, new in (*everything, *EQUIVALENT):
        assert old != new and (HW / file).read_text().count(old) == 1, what

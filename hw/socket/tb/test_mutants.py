"""Each mutant of the hardware makes a test of its module fail.

Operators make mutants of each unit's RTL (testing/operators.py). Those that no operator can make
are in hw/*/mutants.toml, with the tests that must notice them. A mutant is a copy with a small
wrong change. The tests run in that copy, in a separate process. The mutant is killed if they fail
for another reason than a failed build.
"""

import os
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.mutants import Group, Mutant
from testing.mutate import chosen
from testing.tile import HW, ROOT

COPIED = ("hw", "model", "core", "peers", "targets", "facts", "testing", "pyproject.toml")
SECONDS_MAX = 300
OPERATORS_SAMPLE = 8  # per group; not all changes can be built
KILLED = 1  # pytest's exit code
NOT_BUILT = ("%Error: Exiting due to", "cannot be built", "make: ***", "ImportError")


def groups() -> Iterator[tuple[Group, list[str]]]:
    """The groups of all units, each with the files that it tests."""
    for path in sorted(HW.glob("*/mutants.toml")):
        for table in tomllib.loads(path.read_text(encoding="utf-8"))["group"]:
            mutants = [Mutant(**row) for row in table.pop("mutant")]
            files = table.pop("rtl")
            yield Group(mutants=mutants, **table), files


GROUPS = list(groups())


def outcome(folder: Path, group: Group) -> tuple[int, str]:
    """Run the tests of GROUP in FOLDER: pytest's exit code and words. A test that hangs fails.

    The tool is not in the copy: without `make native` the source tree has no whole tool.
    """
    line = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider"]
    environment = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
    environment |= {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])),
        "TAU_TILE_CACHE": str(folder / "build" / "tile"),
        "TAU_TEST_SEED": os.environ.get("TAU_TEST_SEED", "1"),
    }
    # With all that it starts: a simulator that hangs outlives the test that runs it.
    with subprocess.Popen(
        [*line, *group.selection],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=SECONDS_MAX)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                return KILLED, "no end"
            raise
    return process.returncode, said


def is_built(code: int, said: str) -> bool:
    """Whether the tests ran, rather than failed to start."""
    return code in (0, KILLED) and not any(word in said for word in NOT_BUILT)


def killed(folder: Path, group: Group, mutant: Mutant) -> None:
    """Raise AssertionError if the mutant lives or cannot be built."""
    code, said = outcome(mutant.applied(folder, COPIED), group)
    assert is_built(code, said) and code == KILLED, f"{mutant.name} lives\n{said[-3000:]}"


def rows(quick: bool) -> list[object]:
    """The mutants of `make check`, or the others."""
    return [
        pytest.param(group, mutant, id=f"{group.name}: {mutant.name}")
        for group, _ in GROUPS
        for number, mutant in enumerate(group.mutants)
        if quick == (number < group.quick)
    ]


@pytest.mark.parametrize("group, mutant", rows(quick=True))
def test_mutants_are_killed(group: Group, mutant: Mutant, tmp_path: Path) -> None:
    """A few of them; the slow test tries all others."""
    killed(tmp_path, group, mutant)


@pytest.mark.slow
@pytest.mark.parametrize("group, mutant", rows(quick=False))
def test_all_mutants_are_killed(group: Group, mutant: Mutant, tmp_path: Path) -> None:
    killed(tmp_path, group, mutant)


@pytest.mark.slow
@pytest.mark.parametrize("group, files", GROUPS, ids=[group.name for group, _ in GROUPS])
def test_mutants_by_operators_are_killed(group: Group, files: list[str]) -> None:
    """A sample; testing/equivalents.toml lists those that nothing can notice, with the reason."""
    seed = int(os.environ.get("TAU_TEST_SEED", "1"))
    outcomes: list[bool] = []
    for name, change in sorted(chosen(files, 4 * OPERATORS_SAMPLE, seed), key=str):
        text = (ROOT / name).read_text()
        mutant = Mutant(change.described(text), name, text, change.made(text))
        with tempfile.TemporaryDirectory() as folder:
            code, said = outcome(mutant.applied(Path(folder), COPIED), group)
        outcomes += [code == KILLED] if is_built(code, said) else []
        print(f"{name}:{mutant.name}: {code if is_built(code, said) else 'not built'}")
        if len(outcomes) == OPERATORS_SAMPLE:
            break
    assert outcomes and all(outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("group", [group for group, _ in GROUPS], ids=lambda group: group.name)
def test_without_a_mutant_nothing_fails(group: Group, tmp_path: Path) -> None:
    """What kills the mutants is the mutant."""
    first = group.mutants[0]
    none = Mutant(first.name, first.file, first.old, first.old)
    code, said = outcome(none.applied(tmp_path, COPIED), group)
    assert code == 0 and " passed" in said, said[-3000:]


def test_each_mutant_is_once_where_it_says() -> None:
    everything = [mutant for group, _ in GROUPS for mutant in group.mutants]
    changes = {(mutant.file, mutant.old, mutant.new) for mutant in everything}
    assert len(everything) >= 40 and len(changes) == len(everything)
    for mutant in everything:
        assert mutant.old != mutant.new and mutant.text(), mutant.name

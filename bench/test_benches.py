"""Every bench can be run by its name, its tables are its own, and every table of programs is sound.

Method: all modules with a BENCH are imported; nothing is measured.
"""

import importlib
import tomllib
from pathlib import Path

import pytest

from bench import programs, runner
from bench.commands import ROOT
from bench.runner import Bench

FOLDERS = sorted(path.parent for path in (ROOT / "bench").glob("*/run.py"))
TABLES = sorted((ROOT / "bench").glob("*/programs.toml"))


def benches() -> dict[str, Bench]:
    """All of them, by the names of their results."""
    found = {}
    for folder in FOLDERS:
        for path in folder.glob("*.py"):
            if "BENCH = Bench(" in path.read_text(encoding="utf-8"):
                bench = importlib.import_module(f"bench.{folder.name}.{path.stem}").BENCH
                assert bench.name not in found
                found[bench.name] = bench
    return found


def test_every_table_of_results_is_a_benchs() -> None:
    """A folder's run.py has the folder's name."""
    known = benches()
    assert {folder.name for folder in FOLDERS} <= known.keys()
    assert tomllib.loads(runner.TABLES.read_text(encoding="utf-8")).keys() <= known.keys()


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.parent.name)
def test_every_row_of_a_table_makes_a_run(path: Path) -> None:
    """Each word is a text without a place that is not filled in; files are not empty."""
    table = programs.table_of(str(path))
    rows = [row for row in table.values() if isinstance(row, dict)]
    rows = [each for row in rows for each in ([row] if "words" in row else row.values())]
    assert rows
    for row in rows:
        first, again = (programs.run_of(row, 3) for _ in range(2))
        assert first == again
        assert not any(place in word for word in first.command for place in ("{root}", "{cc1"))
        assert all(first.files.values())


def test_a_run_has_its_number() -> None:
    """In its words, and in the arguments of its inputs."""
    row = {"words": ["{root}", "{number}", "{next}"], "stdin": ["lines", [2, 3], 1]}
    found = programs.run_of(row | {"statuses": [10]}, 7)
    assert found.command == (str(ROOT), "7", "8") and found.statuses == (10,)
    assert found.stdin == programs.lines(2 + 7 % 3, 1)

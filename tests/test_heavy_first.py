"""The files that start first are there, and start in that order."""

from pathlib import Path
from types import SimpleNamespace

from testing.plugins import heavy_first

ROOT = Path(__file__).resolve().parents[1]


def test_each_heavy_file_is_there() -> None:
    assert [name for name in heavy_first.HEAVY if not (ROOT / name).is_file()] == []


def test_heavy_files_come_first_in_their_order() -> None:
    names = ["a.py", heavy_first.HEAVY[1], "b.py", heavy_first.HEAVY[0]]
    items = [SimpleNamespace(nodeid=f"{name}::test") for name in names]
    heavy_first.pytest_collection_modifyitems(items)
    assert [item.nodeid.partition("::")[0] for item in items] == [
        *heavy_first.HEAVY[:2],
        "a.py",
        "b.py",
    ]

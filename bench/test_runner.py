"""The runner writes and prints results, and its exit status shows complaints.

Method: a bench of two rows, and one that cannot be measured.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from bench import runner
from bench.result_file import text_of
from bench.runner import Bench, Given
from tautochrone.errors import TauError

ROWS = [{"name": "a", "size": 1500}, {"name": "bc", "size": 9000}]
TABLES = """
[[some.table]]
rows = ""
columns = { name = "{name}", size = "{size:,}", weight = "{weight}" }
[[some.limit]]
rows = ""
value = "size"
most = 2000
"""


def measured(given: Given) -> list[dict[str, Any]]:
    """The rows that were asked for."""
    if "none" in given.words:
        raise TauError("no such row", "ask for a")
    return ROWS[:1] if given.quick else ROWS


@pytest.mark.parametrize(
    ("arguments", "status", "rows"),
    [([], 3, ROWS), (["--quick"], 0, ROWS[:1]), (["none"], 1, None)],
)
def test_a_bench_is_measured_written_and_judged(
    arguments: list[str],
    status: int,
    rows: list[Any] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(runner, "OUT", tmp_path)
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "TABLES", tmp_path / "tables.toml")
    (tmp_path / "tables.toml").write_text(TABLES)
    bench = Bench("some", measured, lambda rows: [f"{len(rows)} rows"])
    assert bench.main(arguments) == status
    said = capsys.readouterr()
    assert ("some: bc: size 9000, most 2000" in said.err) == (status == 3)
    assert ("some: no such row (ask for a)" in said.err) == (status == 1)
    if rows is not None:
        assert json.loads((tmp_path / "some.json").read_text()) == rows
        shown = ["name   size  weight", "a     1,500", "bc    9,000"][: len(rows) + 1]
        assert said.out.splitlines() == [*shown, f"{len(rows)} rows"]


@pytest.mark.parametrize(
    ("result", "rows"),
    [
        ({"a": ROWS}, ROWS),
        ({"a": {"x": True, "y": 3}}, [{"name": "x", "value": True}, {"name": "y", "value": 3}]),
        ({"a": {"x": {"n": 1}}}, [{"name": "x", "n": 1}]),
        ({"a": {"x": {"y": {"n": 1}}}}, [{"name": "x y", "n": 1}]),
    ],
)
def test_rows_are_found(result: Any, rows: list[Any]) -> None:
    """Lists, values by name, and objects by all of their names."""
    assert runner.rows_at(result, "a") == rows


def test_limits_are_judged() -> None:
    """Each is an upper limit unless it is named as a lower one."""
    must = {"ours": 1.1, "glibc": 2.0}
    assert all(runner.reached(must, must, ["glibc"]).values())
    broken = {"ours": 1.2, "glibc": 1.9}
    assert not any(runner.reached(broken, must, ["glibc"]).values())


def test_a_result_has_a_row_on_each_line() -> None:
    """An object without others in it, a list of values, and whatever is short."""
    long = {"name": "x" * 300, "counts": [1, 2]}
    assert text_of({"b": [long, ROWS], "a": {}}).splitlines() == [
        "{",
        ' "a": {},',
        ' "b": [',
        f"  {json.dumps(long, sort_keys=True)},",
        f"  {json.dumps(ROWS)}",
        " ]",
        "}",
    ]

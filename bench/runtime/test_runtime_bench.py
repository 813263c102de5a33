"""The bench measures programs and calls; times are only checked for sense.

Method: one quick round of the smallest program and of the calls; limits are run.py's to report.
"""

from pathlib import Path

from bench.commands import cpu_seconds
from bench.runtime import run as bench
from bench.runtime import cases
from bench.runtime.programs import HERE, allocators, built, programs


def test_a_program_with_each_allocator(tmp_path: Path) -> None:
    """Peak memory is the program's, not its launcher's."""
    compared = allocators()
    assert [one.name for one in compared[:2]] == ["glibc", "ours"]
    launcher = built(tmp_path, HERE / "measure.c", "measure")
    found = bench.measure_program(launcher, ["true"], compared, rounds=1)
    assert all(row["seconds"] < 5 and 500 < row["peak_kib"] < 30_000 for row in found.values())
    assert set(programs(tmp_path)) == {"gcc", "g++", "python", "sqlite", "perl"}


def test_calls_on_a_plan_are_cheaper_than_without(tmp_path: Path) -> None:
    """Pairs of 64 bytes are served by the plan's pool; all ways give times that make sense."""
    found = bench.measure_calls(tmp_path, allocators(), rounds=3, scale=1)
    assert {"glibc", "ours", "planned"} <= found.keys()
    assert all(0 < row["pairs_ns"] < 2000 and 0 < row["mixed_ns"] < 5000 for row in found.values())


def test_bad_cases_are_measured(tmp_path: Path) -> None:
    """Four of them, with the C library's heap and ours; a pair takes some time."""
    found = cases.commands(tmp_path, scale=1)
    assert len(found) == 4
    words = [*found["eight threads, pairs of 64 bytes"][0][:-1], "3000"]
    for one in allocators()[:2]:
        assert 0 < cpu_seconds(words, one.variables) < 5

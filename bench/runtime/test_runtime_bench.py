"""The bench measures programs and calls; times are only checked for sense.

Method: one quick round of the smallest program and of the calls; limits are run.py's to report.
"""

from pathlib import Path

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


def test_hard_cases_are_measured(tmp_path: Path) -> None:
    """With the C library's heap and ours: CPU time, and the KiB that stay after a free."""
    found = cases.cases(tmp_path, scale=1)
    assert {case.unit for case in found.values()} >= {"CPU seconds", "KiB"}
    row = cases.compared(found["eight threads, pairs of 64 bytes"], rounds=1)
    assert 0 <= row["ours"] < 5 and 0 <= row["glibc"] < 5
    pairs = "pairs of 16 to 1,039 bytes"
    planned, unplanned = (
        found[f"two threads{which}, {pairs}"].measured(allocators()[1])
        for which in (" on a plan", "")
    )
    assert planned > unplanned  # each call takes the lock
    freed = found["resident after 1 GiB of 1,000 bytes each is freed"]
    for one in allocators()[:2]:
        assert 500 < freed.measured(one) < 10_000

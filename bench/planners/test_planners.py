"""The planners' bench has every figure, and its recordings repeat. Times are for run.py."""

import json
from pathlib import Path

from bench.planners import run as bench


def test_a_small_run_has_every_figure(tmp_path: Path) -> None:
    result = bench.run(tmp_path, events=20_000, repeats=1, plan_events=2000)
    assert [row["recording"] for row in result] == ["churn", "phases"]
    for row in result:
        assert row["classes"] == bench.CLASSES
        assert 0 < row["instants_kept"] <= 10_000
        assert 0 < row["greedy_dedicated_share"] <= row["exact_dedicated_share"] <= 1
        assert row["exact_optimal_within"] < 0.1
        assert row["plan_events"] == 2000
        assert row["plan_replays"] > 0
        assert row["plan_over_peak"] >= 1
    assert bench.BENCH.judged(result) == []
    json.dumps(result)


def test_recordings_are_the_same_every_time(tmp_path: Path) -> None:
    for name in ("a", "b"):
        bench.write_recording(tmp_path / f"{name}.tau", 3000, 9, bench.SEED)
    assert (tmp_path / "a.tau").read_bytes() == (tmp_path / "b.tau").read_bytes()

"""The bench's own parts at a small size, and the ratios that hold on any machine."""

from pathlib import Path

import numpy as np
from bench.trace import run


def test_noise_is_the_same_each_time_and_keeps_the_rules(tmp_path: Path) -> None:
    first, second = run.make_noise(20_000), run.make_noise(20_000)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    run.write_ours(tmp_path / "a.tau", first)
    assert run.read_ours(tmp_path / "a.tau") == 20_000


def test_a_trace_of_noise_is_no_larger_than_parquet_and_faster(tmp_path: Path) -> None:
    found = run.measure(run.make_noise(400_000), tmp_path, repeats=2)
    assert found["size_ratio"] <= 1.0
    assert found["write_ratio"] > 1.5 and found["read_ratio"] > 1.2

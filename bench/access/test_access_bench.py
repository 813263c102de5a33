"""The bench measures what its tables claim: exact events; times are only checked for sense."""

from pathlib import Path

import pytest

from bench.access import run as bench


def test_one_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = bench.programs(tmp_path, quick=True)[0]
    short = bench.Program(program.name, [program.whole[0], "14"], program.trivial)
    one = bench.measure(short, tmp_path, rounds=1)
    # Seven sizes of vectors, twice each: 24 bytes a value, one touch each 16 of them.
    assert one["heap_accesses"] > 3_000_000 and 20_000 < one["events"] < 30_000
    assert one["touched_bytes"] >= 2 * sum(24 << n for n in range(6, 13))
    assert all(0 < one["cpu_seconds"][tool] < 60 for tool in bench.TOOLS)
    assert one["all_accesses"] > one["heap_accesses"]


def test_a_missed_ratio_shows() -> None:
    figures = [{"program": "a", "accesses_per_event": 99}, {"program": "b"}]
    figures[1]["accesses_per_event"] = 100
    assert bench.BENCH.judged(figures) == ["a: accesses_per_event 99, least 100"]

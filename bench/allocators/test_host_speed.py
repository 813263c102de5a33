"""The bench of nanoseconds on a small trace, and what it refuses."""

from pathlib import Path

import pytest

from bench.allocators import host_speed, programs, synthetic
from tautochrone.errors import TauError


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of small objects, made for this run."""
    programs.TRACES = synthetic.TRACES = tmp_path_factory.mktemp("traces")
    return synthetic.trace("small")


@pytest.mark.parametrize("way", host_speed.WAYS[:3], ids=lambda way: way.name)
def test_a_row_has_all(way: host_speed.Way, trace: Path, tmp_path: Path) -> None:
    """Every call takes time, and mimalloc is what the others are divided by."""
    program = host_speed.built(tmp_path, way)
    row = host_speed.replayed(program, way, trace, tmp_path, 2)
    assert row["build"] == way.name and row["mimalloc"]["ratio"] == 1
    for name in host_speed.ALLOCATORS:
        assert row[name]["nanoseconds"] > 0
        assert row[name]["least"] <= row[name]["ratio"] <= row[name]["most"]


def test_totals_are_geometric_means_of_medians() -> None:
    """Of ratios of one round each, not of medians of times."""
    one = host_speed.row_of([(10, 20, 40, 10), (20, 60, 20, 20), (10, 40, 10, 10)])
    assert [one[name]["ratio"] for name in ("tlsf", "budget")] == [3, 1]
    assert (one["tlsf"]["least"], one["tlsf"]["most"]) == (2, 4)
    other = host_speed.row_of([(10, 120, 40, 40)])
    (total,) = host_speed.totals_of([{"build": "x", **one}, {"build": "x", **other}])
    assert total == {"build": "x", "tlsf": 6.0, "budget": 2.0, "pools": 2.0}


def test_a_heap_that_is_too_small_is_refused(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused request would shorten a round."""
    monkeypatch.setattr(host_speed, "ROOM_BYTES", -int(1.2 * peak_bytes(trace)))
    way = host_speed.WAYS[0]
    with pytest.raises(TauError, match="a request was refused"):
        host_speed.replayed(host_speed.built(tmp_path, way), way, trace, tmp_path, 1)


def peak_bytes(trace: Path) -> int:
    """The most bytes alive."""
    return int(host_speed.open_trace_for_replay(trace).facts.peak_live_bytes)

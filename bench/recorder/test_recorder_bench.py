"""The bench measures what its table claims: exact bytes and events; times only make sense.

Method: one quick round of the smallest program; limits on time are run.py's to report.
"""

from pathlib import Path

import pytest

from bench.recorder import run as bench


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """Figures of the densest program."""
    folder = tmp_path_factory.mktemp("bench")
    program = bench.programs(folder, quick=True)[0]
    return bench.measure(program, folder, rounds=1)


def test_every_event_is_counted(figures: dict) -> None:
    """The program's own events and nothing else to speak of."""
    assert 400_000 <= figures["events"] <= 400_100
    assert figures["implied_frees"] == 0


def test_bytes_an_event_are_within_the_limit(figures: dict) -> None:
    """On disk, with headers and the unused ends of chunks."""
    assert 3 < figures["bytes_per_event"] <= bench.MUST["bytes_per_event"]


def test_time_makes_sense(figures: dict) -> None:
    """No limit here: a shared machine may take ten times as long."""
    assert 0 < figures["cpu_seconds"] < 60
    assert figures["nanoseconds_per_event"] < 3000


def test_limits_are_judged_where_they_apply() -> None:
    """The overhead counts for malloc-heavy programs only; a missed limit shows."""
    good = {"nanoseconds_per_event": 20, "bytes_per_event": 5, "overhead_percent": 9}
    good |= {"nanoseconds_standard_error": 1, "heavy": True}
    dense = good | {"heavy": False, "overhead_percent": 200}
    noisy = good | {"nanoseconds_per_event": 50, "nanoseconds_standard_error": 20}
    assert bench.reached([good, dense, noisy]) == dict.fromkeys(bench.MUST, True)
    assert bench.reached([dense | {"heavy": True}])["overhead_percent"] is False
    assert bench.reached([noisy])["nanoseconds_per_event"] is False  # nothing could be judged
    assert bench.reached([good, good | {"bytes_per_event": 9}])["bytes_per_event"] is False
    assert Path(bench.HERE / "network.php").exists()

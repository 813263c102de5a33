"""The margins of `tau plan` rest on the study's measurements."""

import json
from pathlib import Path

import pytest

from bench.margins.run import FIVE, MARGINS, MEASURED, PROGRAMS, RUNS, measure
from bench.margins.table import PLANS, resampled, shares
from tautochrone.heap.margin import DEFAULT, REFUSED


def test_plans_say_no_less_than_was_measured() -> None:
    """For every number of recordings; over all programs of the study."""
    measured = json.loads(MEASURED.read_text())
    assert set(measured) == set(PROGRAMS) and len(measured) == 20
    for recordings in PLANS:
        assert shares(measured, recordings)["advised"] <= REFUSED[int(recordings)]
    for recordings, said in REFUSED.items():
        assert resampled(measured, recordings)[0] <= said


def test_a_margin_is_needed_and_the_default_is_not_too_large() -> None:
    """Without a margin plans refuse often, and half of the default is not enough."""
    measured = json.loads(MEASURED.read_text())
    assert all(shares(measured, recordings)["0"] > 0.05 for recordings in PLANS)
    needs = [need for found in measured.values() for row in found["1"] for need in row["needs"]]
    assert sum(need > DEFAULT / 2 for need in needs) / len(needs) > REFUSED[1]


def test_the_study_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One small program: recorded, planned and tried."""
    monkeypatch.setattr("bench.margins.run.TRACES", tmp_path)
    found = measure("as")
    assert len(found["plain"]) == RUNS and len(found["1"]) == len(FIVE)
    for recordings in PLANS:
        for row in found[recordings]:
            assert row["fresh"] == RUNS - len(row["from"]) == len(row["needs"])
            counts = [row["refused"][f"{margin:g}"] for margin in MARGINS]
            assert counts == sorted(counts, reverse=True)

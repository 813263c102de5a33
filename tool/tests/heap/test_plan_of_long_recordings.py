"""A long recording is searched in a part and confirmed whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tautochrone.heap import plan
from tautochrone.heap.plan import Wanted, make_plan
from tautochrone.heap.planners.replayed import Measured
from tautochrone.replay.run import completes
from testing.random_trace import random_trace

SIZES = [24, 40, 72, 136, 200, 520, 1032]


def test_a_part_is_searched_and_the_whole_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With fewer replays of the whole, and a heap that holds it."""
    given = {"events": 12_000, "live_max": 300, "sizes": SIZES, "others": False}
    trace = random_trace(tmp_path / "t.tau", seed=6, **given)
    whole = make_plan([trace], Wanted(layout="32"))
    monkeypatch.setattr(plan, "EVENTS_SEARCHED_MAX", 4000)
    monkeypatch.setattr(plan, "EVENTS_OF_PART", 2000)
    part = make_plan([trace], Wanted(layout="32"))
    assert part.replays < whole.replays
    assert part.plain_heap_bytes == whole.plain_heap_bytes
    assert part.plan.classes != ()
    assert part.plan.heap_bytes < part.plain_heap_bytes
    assert part.plan.heap_bytes < 1.02 * whole.plan.heap_bytes
    assert completes(trace, "budget", part.plan.heap_bytes, part.plan)


@pytest.mark.parametrize("pools", ["auto", "always"])
def test_pools_that_save_in_the_part_alone_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pools: str
) -> None:
    given = {"events": 12_000, "live_max": 300, "sizes": SIZES, "others": False}
    trace = random_trace(tmp_path / "t.tau", seed=6, **given)
    monkeypatch.setattr(plan, "EVENTS_SEARCHED_MAX", 4000)
    monkeypatch.setattr(plan, "EVENTS_OF_PART", 2000)
    measure = plan._measure

    def lose(*words: Any) -> Measured:
        found = measure(*words)
        assert found.classes
        return replace(found, heap_bytes=found.plain_heap_bytes + 8)

    monkeypatch.setattr(plan, "_measure", lose)
    made = make_plan([trace], Wanted(layout="32", pools=pools))
    assert made.plan.classes == ()
    assert made.measured_heap_bytes == made.plain_heap_bytes

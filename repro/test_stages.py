"""The stages that a reproduction measures are those that were asked for."""

from __future__ import annotations

from typing import Any

import pytest

from repro import stages

STAGES = {"one": lambda: {"count": 1}, "two": lambda: {"count": 2}}


@pytest.mark.parametrize(
    ("chosen", "measured"),
    [([], ["one", "two"]), (["two"], ["two"]), (["two", "one"], ["two", "one"])],
)
def test_the_chosen_stages_are_stored(chosen: list[str], measured: list[str]) -> None:
    stored: list[tuple[str, Any]] = []
    stages.measure(STAGES, chosen, lambda *each: stored.append(each))
    assert stored == [(name, STAGES[name]()) for name in measured]


def test_an_unknown_stage_ends_before_any_is_measured() -> None:
    with pytest.raises(SystemExit, match="no stage is called three; there are one, two"):
        stages.measure(STAGES, ["one", "three"], lambda *_: pytest.fail("measured"))

"""The protocol of several harts keeps its promise in every interleaving; its mutants do not."""

from __future__ import annotations

from dataclasses import fields

import pytest

from model.shootdown import Protocol, Reached, explore


@pytest.mark.parametrize(
    ("harts", "frames", "states"), [(1, 3, 2022), (2, 3, 41658), (3, 2, 8122)]
)
def test_no_hart_reaches_a_frame_that_is_used_again(harts: int, frames: int, states: int) -> None:
    """All reachable states; what waits is free after two acknowledgements of each hart at most."""
    result = explore(Protocol(), harts=harts, frames=frames)
    assert result.states == states
    assert result.acknowledgements_max == 2 * harts


@pytest.mark.slow
@pytest.mark.parametrize(("harts", "slots", "frames"), [(3, 1, 3), (2, 2, 3)])
def test_no_hart_reaches_a_frame_in_larger_worlds(harts: int, slots: int, frames: int) -> None:
    """Three harts with a frame to spare, and two regions at once: minutes, a gigabyte."""
    result = explore(Protocol(), harts=harts, slots=slots, frames=frames)
    assert result.acknowledgements_max == 2 * harts


@pytest.mark.parametrize("part", [field.name for field in fields(Protocol)])
def test_every_part_is_needed(part: str) -> None:
    """Without it two harts and three frames suffice to reach a frame that is used again."""
    with pytest.raises(Reached) as found:
        explore(Protocol(**{part: False}))
    assert any("unmap" in step for step in found.value.trace)
    assert "hangs table" in found.value.trace[-1] or "maps page" in found.value.trace[-1]

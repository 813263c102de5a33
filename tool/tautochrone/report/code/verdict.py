"""The verdict on cold code: what leaves RAM, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone.console.output import change, count, percent
from tautochrone.plan.code.space import Point
from tautochrone.report.code.look import share
from tautochrone.report.code.time import Clock
from tautochrone.report.panel import of_bytes


def sentences(
    point: Point, is_planned: bool, code_bytes: int, bound_faults: int | None, clock: Clock
) -> list[str]:
    """What POINT keeps in RAM and how often it loads a page, in this recording."""
    asked = "the plan" if is_planned else f"T = {share(point.threshold)}"
    less_or_more = change(point.ram_bytes, max(code_bytes, 1))
    told = [
        f"With {asked} and {point.frames} frames, {of_bytes(point.ram_bytes)} of"
        f" {of_bytes(code_bytes)} of kernel code are in RAM: {less_or_more}."
    ]
    cost = f"This recording has {count(point.faults, 'fault')}"
    if bound_faults is not None:
        cost += f"; no placement and no policy has less than {bound_faults:,}"
    total = clock.seconds(point.faults)
    if total > 0:
        part = percent(clock.page_seconds(point.faults) / total)
        cost += f". At {clock.page_us:g} µs per load they take {part} of the kernel's time"
    return [*told, f"{cost}."]


def compared(others: Sequence[Point]) -> str:
    """How many faults other placements have at the same threshold and frames."""
    told = [f"{one.planner} {one.faults:,}" for one in others]
    return (
        "Faults of other placements that were planned from it, with the same threshold and frames:"
        f" {', '.join(told)}."
    )

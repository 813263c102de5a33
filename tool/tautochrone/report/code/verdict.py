"""The verdict on cold code: what leaves RAM, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone.console.output import change, count, percent
from tautochrone.plan.code.space import Point
from tautochrone.report.code.look import share
from tautochrone.report.code.time import Clock
from tautochrone.report.panel import of_bytes

# What booted kernels loaded, for what replay had said: repro/coldcode/claims.md has each case.
LESS_PERCENT, MORE_PERCENT, LITTLE_MEMORY_TIMES = 2, 19, 2.3


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
    real = (
        f"Booted kernels loaded from {LESS_PERCENT} % fewer to {MORE_PERCENT} % more pages than"
        f" replay said, and {LITTLE_MEMORY_TIMES:g} times as many where they had so little memory"
        " that they reclaimed it, which the recorded kernel did not."
    )
    return [*told, f"{cost}.", real]


def compared(others: Sequence[Point]) -> str:
    """How many faults other placements have at the same threshold and frames."""
    told = [f"{one.planner} {one.faults:,}" for one in others]
    return (
        "Faults of other placements that were planned from it, with the same threshold and frames:"
        f" {', '.join(told)}."
    )

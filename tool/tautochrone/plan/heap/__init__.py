"""Planners: each file answers how many buckets of each size a heap should dedicate, in its own way.

A formula planner (greedy, exact, exhaustive) has `budget(instants, ...) -> Budget`; `replayed`
measures its plans.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """Counts of a planner, in the order of the instants' sizes.

    `optimal_within` is a proved bound of the distance to the best value of Eq 7, as a fraction of
    that.
    """

    counts: list[int]
    optimal_within: float

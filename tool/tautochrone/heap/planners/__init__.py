"""Planners. Each file chooses the number of buckets of each size in its own way.

A formula planner (greedy, exact, exhaustive) has `budget(instants, ...) -> Budget`. The planner
`replayed` measures its plans by replay.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """Counts of a planner, in the order of the instants' sizes.

    `optimal_within` is a proved bound of the distance to the best value of Eq 7, as a fraction of
    the best value.
    """

    counts: list[int]
    optimal_within: float

"""The paper's greedy, exactly as printed in Fig. 4 [P1-16]: falling sizes, N_i by Eq 17 and 18.

Its objective is the dedicated bytes of Eq 7, not the heap; `replayed` has the heap as its
objective.
"""

from __future__ import annotations

from tautochrone.plan.heap import Budget
from tautochrone.plan.profile import Instants


def budget(instants: Instants) -> Budget:
    """The greedy's counts, and how far from the best they can be at most.

    Time: one pass over the instants a class.
    """
    counts = instants.greedy()
    best = sum(
        size * count
        for size, count in zip(instants.sizes_bytes, instants.most_counts(), strict=True)
    )
    value = sum(size * count for size, count in zip(instants.sizes_bytes, counts, strict=True))
    return Budget(counts, (best - value) / best if best else 0.0)

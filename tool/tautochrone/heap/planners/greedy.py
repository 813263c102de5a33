"""The paper's greedy as printed in Fig. 4 [P1-16]: decreasing sizes, N_i by Eq 17 and 18.

It maximizes the dedicated bytes of Eq 7. It does not minimize the heap, as `replayed` does.
"""

from __future__ import annotations

from tautochrone.heap.planners import Budget
from tautochrone.heap.profile import Instants


def budget(instants: Instants) -> Budget:
    """Return the greedy's counts and a bound of their distance from the best.

    Time: one pass over the instants per class.
    """
    counts = instants.greedy()
    best = sum(
        size * count
        for size, count in zip(instants.sizes_bytes, instants.most_counts(), strict=True)
    )
    value = sum(size * count for size, count in zip(instants.sizes_bytes, counts, strict=True))
    return Budget(counts, (best - value) / best if best else 0.0)

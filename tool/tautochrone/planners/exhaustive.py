"""Exhaustive search [P1-15].

Every combination of counts within Eq 6 against Eq 5. The baseline, for small profiles.
"""

from __future__ import annotations

import math

import numpy as np

from tautochrone.errors import TauError
from tautochrone.planners import Budget
from tautochrone.profile import Instants

COMBINATIONS_MAX = 2_000_000  # the largest case of the paper's Table 1 has 161,051


def budget(instants: Instants) -> Budget:
    """The best counts of Eq 7.

    Raises TauError if there are more than COMBINATIONS_MAX combinations.
    """
    combinations = math.prod(peak + 1 for peak in instants.peaks)
    if combinations > COMBINATIONS_MAX:
        raise TauError(
            f"{combinations:.3g} combinations of counts are too many for an exhaustive search "
            f"(at most {COMBINATIONS_MAX:,})",
            "use --planner exact, which proves the same optimum",
        )
    if instants.count == 0:
        return Budget([0] * len(instants.sizes_bytes), 0.0)
    live = instants.live_counts(np.arange(instants.count))
    other_bytes = instants.budgeted_bytes([0] * len(instants.sizes_bytes)) - live @ np.array(
        instants.sizes_bytes
    )
    return Budget(_best(instants, live, other_bytes), 0.0)


def _best(instants: Instants, live: np.ndarray, other_bytes: np.ndarray) -> list[int]:
    """Counts up like an odometer.

    `sums[i]` is Eq 4 over the classes before i, so one step redoes only what changed.
    """
    sizes, peaks = instants.sizes_bytes, instants.peaks
    counts = [0] * len(sizes)
    sums = [other_bytes] + [other_bytes] * len(sizes)
    best, best_bytes = list(counts), -1
    changed = 0
    while True:
        for index in range(changed, len(sizes)):
            sums[index + 1] = sums[index] + sizes[index] * np.maximum(counts[index], live[:, index])
        dedicated = sum(size * count for size, count in zip(sizes, counts, strict=True))
        if dedicated > best_bytes and sums[-1].max() <= instants.limit_bytes:
            best, best_bytes = list(counts), dedicated
        changed = len(sizes) - 1
        while changed >= 0 and counts[changed] == peaks[changed]:
            counts[changed] = 0
            changed -= 1
        if changed < 0:
            return best
        counts[changed] += 1

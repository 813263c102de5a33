"""Exhaustive search [P1-15], the baseline for small profiles.

It checks every combination of counts within Eq 6 against Eq 5.
"""

from __future__ import annotations

import math

from tautochrone.errors import TauError
from tautochrone.heap.planners import Budget
from tautochrone.heap.profile import Instants

COMBINATIONS_MAX = 2_000_000  # the largest case of the paper's Table 1 has 161,051


def budget(instants: Instants) -> Budget:
    """Return the best counts of Eq 7.

    Raises TauError if there are more than COMBINATIONS_MAX combinations.
    """
    combinations = math.prod(peak + 1 for peak in instants.peaks)
    if combinations > COMBINATIONS_MAX:
        raise TauError(
            f"{combinations:.3g} combinations of counts are too many for an exhaustive search "
            f"(at most {COMBINATIONS_MAX:,})",
            "use --planner exact, which proves the same optimum",
        )
    return Budget(instants.exhaustive(), 0.0)

"""The paper's greedy, exactly as printed in Fig. 4 [P1-16]: falling sizes, N_i by Eq 17 and 18.

Its objective is the dedicated bytes of Eq 7, not the heap; `replayed` has the heap as its objective.
"""

from __future__ import annotations

from tautochrone.planners import Budget
from tautochrone.profile import Instants


def budget(instants: Instants) -> Budget:
    """The greedy's counts. Time: one pass over the kept instants a class."""
    return Budget(instants.greedy())

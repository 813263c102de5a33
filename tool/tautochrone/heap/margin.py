"""The margin that a plan needs for runs that were not recorded.

The rule and its evidence are in docs/design/plan.md; bench/margins measures them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tautochrone.console.output import percent
from tautochrone.heap.spread import Spread

# What one recording alone gets, and several that need the same: nothing is known about other runs.
DEFAULT = 0.08
# The least margin, and the factor of the spread, by the number of recordings. The last of each
# holds for more recordings, too.
LEAST = {2: 0.04, 3: 0.03, 4: 0.025, 5: 0.02}
FACTORS = {2: 3.0, 3: 2.0, 4: 2.0, 5: 1.5}
STEP = 0.001  # margins are rounded up to it
# The share of fresh runs that plans with such a margin refused at most in bench/margins, by the
# number of recordings.
REFUSED = {1: 0.005, 2: 0.01, 3: 0.01, 4: 0.005, 5: 0.005}

GIVEN, SPREAD, ALONE, FIXED = "given", "spread", "default", "fixed input"


@dataclass(frozen=True)
class Margin:
    """A margin as a fraction, and where it is from: a value of heap.margin_source.

    `advised` follows from the recordings. `refused` is the share of fresh runs to expect
    that the plan refuses, at most; None if nothing is known.
    """

    fraction: float
    source: str
    advised: float
    recordings: int
    refused: float | None

    def text(self) -> str:
        """Say why the margin is as large as it is."""
        # The share of the advised margin was measured on the programs that the rule is from.
        refused = "unknown"
        if self.refused is not None:
            is_studied = self.fraction >= self.advised
            refused = f"{'' if is_studied else 'about '}{percent(self.refused)}"
            refused += " at most in a study of 20 programs" if is_studied else ""
        if self.source == FIXED:
            return "no margin: the input is fixed, so nothing is planned for other runs"
        if self.recordings == 1:
            basis = "one recording says nothing about other runs"
            if self.source == ALONE:
                return (
                    f"{basis}: the margin is the default of {percent(self.fraction)}; record other"
                    " inputs too and plan from all of them (`tau record --runs 5 -o FOLDER` repeats"
                    " one command)"
                )
            return f"{basis}; the default margin is {percent(self.advised)}"
        basis = f"{self.recordings} recordings advise a margin of {percent(self.advised)}"
        return f"{basis}; share of fresh runs that such a plan refuses: {refused}"


def margin_of(
    spread: Spread | None, recordings: int, given: float | None, is_input_fixed: bool
) -> Margin:
    """The margin of a plan: the one that is `given`, else the advised one."""
    wanted = advised(spread, recordings)
    if given is not None:
        return Margin(given, GIVEN, wanted, recordings, _refused(given, wanted, recordings))
    if is_input_fixed:
        return Margin(0.0, FIXED, wanted, recordings, None)
    source = ALONE if recordings == 1 else SPREAD
    return Margin(wanted, source, wanted, recordings, _refused(wanted, wanted, recordings))


def advised(spread: Spread | None, recordings: int) -> float:
    """The margin that follows from the spread of some recordings, or from one alone."""
    if spread is None or not spread.bytes:
        return DEFAULT
    count = min(recordings, max(FACTORS))
    steps = math.ceil(round(FACTORS[count] * spread.fraction / STEP, 6))
    return max(LEAST[count], round(steps * STEP, 3))


def _refused(margin: float, wanted: float, recordings: int) -> float | None:
    """The share of fresh runs that need more.

    By the study with the advised margin, and without one by the order of runs: each of n + 1 runs
    is as likely to need most.
    """
    if margin >= wanted:
        return REFUSED[min(recordings, max(REFUSED))]
    return 1 / (recordings + 1) if recordings > 1 else None

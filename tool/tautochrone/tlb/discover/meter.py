"""Walks that are repeated until their cost stands still, counted."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tautochrone.tlb.discover.processors.oracle import Oracle, Pages, Ticks, Unknown

SHUFFLES = 2
ROUNDS_MAX = 24
IMPROVED = 0.97  # A cost below this part of the best so far: entries still settle.
CLEAR_FIT, CLEAR_CONFLICT = 0.3, 0.5  # As fractions of the way from fits to conflicts.
UNCLEAR_REPEATS = 8
LASTING_REPEATS = 3
PAUSE_SECONDS = 0.001


@dataclass(frozen=True)
class Limit:
    """Where a search ends: after CPU seconds on a real processor, and after walks on a simulated
    one, whose result then does not depend on how fast this machine is."""

    cpu_seconds: float = math.inf
    walks: float = math.inf


@dataclass
class Meter:
    """An oracle, and how often it was asked."""

    oracle: Oracle
    calls: int = 0
    access: float = 0.0  # Ticks of one that hits, once it is known.
    limit: Limit = Limit()
    cpu_started: float = field(default_factory=time.process_time)

    def cost(self, pages: Pages, enough: float = 0.0) -> float:
        """Ticks per access once entries have settled: the least of all bursts.

        What disturbs a burst only ever adds ticks. Stops early at a cost of at most `enough`.
        """
        best = np.inf
        shuffles = 1 if self.oracle.facts.is_exact else SHUFFLES
        for _ in range(ROUNDS_MAX):
            self._ask()
            least = float(self.oracle.walk(pages, shuffles).min())
            is_still = least > IMPROVED * best
            best = min(best, least)
            if is_still or best <= enough:
                break
        return best

    def after(self, before: Pages, pages: Pages) -> float:
        """Ticks of one pass over `pages` after one over `before`."""
        self._ask()
        return self.oracle.after(before, pages)

    def _ask(self) -> None:
        if self.calls >= self.limit.walks:
            raise Unknown(f"the limit of {self.limit.walks:,} walks was reached")
        if time.process_time() - self.cpu_started > self.limit.cpu_seconds:
            raise Unknown(f"the limit of {self.limit.cpu_seconds:g} CPU seconds was reached")
        self.calls += 1


@dataclass(frozen=True)
class Scale:
    """Costs per access of walks whose pages all fit, and of such in which every set overflows."""

    fits: float
    conflicts: float

    def place(self, cost: float) -> float:
        """0: as what fits, 1: as what conflicts."""
        return (cost - self.fits) / (self.conflicts - self.fits)

    @property
    def enough(self) -> float:
        """A cost that is clearly a fit's."""
        return self.fits + 0.1 * (self.conflicts - self.fits)


def conflicts(meter: Meter, pages: Pages | Callable[[], Pages], scale: Scale) -> tuple[bool, float]:
    """Whether some set overflows, and the place on the scale. Raises Unknown if it is unclear.

    A neighbor can make what fits look like a conflict, for milliseconds, but not the reverse. So on
    a shared processor a conflict is one that lasts. `pages` may draw others for each repetition.
    """
    is_shared = meter.oracle.facts.is_shared
    least = np.inf
    for repeat in range(UNCLEAR_REPEATS):
        drawn = pages() if callable(pages) else pages
        least = min(least, scale.place(meter.cost(drawn, scale.enough)))
        if least < CLEAR_FIT:
            return False, least
        if least > CLEAR_CONFLICT and (repeat + 1 >= LASTING_REPEATS or not is_shared):
            return True, least
        if is_shared:
            time.sleep(PAUSE_SECONDS)
    if least > CLEAR_CONFLICT:
        return True, least
    raise Unknown(f"a walk costs {least:.2f} of the way from fits to conflicts, in each try")


def middle_mean(values: Sequence[float] | Ticks) -> float:
    """The mean of the middle half: finer than the clock's step, and free of outliers."""
    ordered = np.sort(np.asarray(values, np.float64))
    cut = ordered.size // 4
    return float(ordered[cut : ordered.size - cut].mean())


def low_mean(values: Sequence[float] | Ticks) -> float:
    """The mean of the lower half: what disturbs only ever adds."""
    ordered = np.sort(np.asarray(values, np.float64))
    return float(ordered[: max(1, ordered.size // 2)].mean())

"""Finds the best value of Eq 7 with a certificate, by an integer program over the counts.

Its constraints are generated as needed.

Eq 9 says, for every instant t: sum over i of S_i max(N_i, P_i(t)) <= U_max. The maximum is the
larger of two linear terms, so the inequality is the same as 2^n linear ones: for every set A of
classes,

    sum over i in A of S_i N_i  <=  U_max - U(t) + sum over i in A of S_i P_i(t).

No variable is added. For given N, at most one set per instant can be violated:

    A = {i : N_i > P_i(t)}

The method:

1. At an instant where U(t) = U_max, N_i <= P_i(t). These are the bounds of the variables.
2. Solve the relaxation over the inequalities so far with HiGHS: first linear, then with integers.
3. Evaluate Eq 4 at every kept instant (native). Add the inequalities of the worst instants; repeat
   from 2.
4. Every relaxation's bound holds for the whole problem. The greedy, started from the relaxation's
   integer parts, makes the reported counts feasible. They are checked at every instant.
   `optimal_within` = (bound - value) / bound.
"""

from __future__ import annotations

import time

import numpy as np

from tautochrone import solver
from tautochrone.heap.planners import Budget
from tautochrone.heap.profile import Instants

# Counts bound the work, so that equal input gives equal results; the clock is a last resort.
LINEAR_ROUNDS_MAX = 150
WHOLE_ROUNDS_MAX = 2
WHOLE_NODES_MAX = 200
SECONDS_MAX = 9.0
WINDOWS_COUNT = 32  # at most one inequality per window of time and round
VIOLATION_MIN = 1e-6  # granules


def budget(
    instants: Instants,
    seconds_max: float = SECONDS_MAX,
    linear_rounds_max: int = LINEAR_ROUNDS_MAX,
    whole_rounds_max: int = WHOLE_ROUNDS_MAX,
) -> Budget:
    """Return the best counts and their certificate.

    Stops after about `seconds_max`, or after these rounds, with the proof so far.
    """
    if instants.count == 0 or not instants.sizes_bytes:
        return Budget([0] * len(instants.sizes_bytes), 0.0)
    return _Search(instants, seconds_max, linear_rounds_max, whole_rounds_max).run()


class _Search:
    """One run. Sizes are in granules, so that coefficients are small integers."""

    def __init__(
        self,
        instants: Instants,
        seconds_max: float,
        linear_rounds_max: int,
        whole_rounds_max: int,
    ) -> None:
        self.instants = instants
        self.linear_rounds_max = linear_rounds_max
        self.whole_rounds_max = whole_rounds_max
        self.deadline = time.monotonic() + seconds_max
        self.granule = instants.profile.granule_bytes
        self.sizes = np.array(instants.sizes_bytes) // self.granule
        self.limit = instants.limit_bytes // self.granule
        self.in_use = instants.budgeted_bytes([0] * len(self.sizes)) / self.granule
        self.most = np.array(instants.most_counts(), dtype=np.int64)
        self.rows: list[np.ndarray] = []
        self.rights: list[float] = []
        self.seen: set[tuple[int, bytes]] = set()
        self.bound = float(self.sizes @ self.most)
        self.best = self._completed(np.zeros(len(self.sizes)))

    def _completed(self, counts: np.ndarray) -> np.ndarray:
        """Run the greedy from the integer part of feasible `counts`: feasible, at least as good."""
        least = np.minimum(np.floor(counts + 1e-9).astype(np.int64), self.most)
        if not self.instants.holds(least.tolist()):
            least = np.array(self.instants.greedy(most=least.tolist()))
        return np.array(self.instants.greedy(least.tolist(), self.most.tolist()), dtype=np.int64)

    def _offer(self, counts: np.ndarray) -> None:
        completed = self._completed(counts)
        if self.sizes @ completed > self.sizes @ self.best and self.instants.holds(
            completed.tolist()
        ):
            self.best = completed

    def _add_broken(self, counts: np.ndarray) -> bool:
        """Add the inequalities that `counts` violates most, at most one per window of time.

        Return whether there was any.
        """
        excess = self.instants.budgeted_bytes(counts) / self.granule - self.limit
        if excess.max() <= VIOLATION_MIN:
            return False
        chosen = [
            chunk[np.argmax(excess[chunk])]
            for chunk in np.array_split(np.arange(len(excess)), WINDOWS_COUNT)
            if len(chunk)
        ]
        chosen = np.array([t for t in chosen if excess[t] > VIOLATION_MIN])
        added = False
        for t, live in zip(chosen, self.instants.live_counts(chosen), strict=True):
            above = counts > live + 1e-9
            key = (int(t), above.tobytes())
            if key not in self.seen:
                self.seen.add(key)
                self.rows.append(np.where(above, self.sizes, 0).astype(float))
                self.rights.append(
                    float(self.limit - self.in_use[t] + (self.sizes * live)[above].sum())
                )
                added = True
        return added

    def _gap(self) -> float:
        value = float(self.sizes @ self.best)
        bound = np.floor(self.bound + 1e-6)  # an integer number of granules
        return max(0.0, (bound - value) / bound) if bound > 0 else 0.0

    def _remaining(self) -> float:
        return self.deadline - time.monotonic()

    def run(self) -> Budget:
        self._add_broken(self.most.astype(float))
        self._solve_linear()
        self._solve_whole()
        counts = [int(count) for count in self.best]
        if not self.instants.holds(counts):
            raise AssertionError("the planner's counts violate Eq 5")
        return Budget(counts, self._gap())

    def _relaxation(self, is_whole: bool, **options: float) -> solver.Solved | None:
        rows = solver.dense(self.rows, self.rights)
        return solver.maximum(self.sizes, self.most, rows, is_whole=is_whole, **options)

    def _solve_linear(self) -> None:
        """Approach the relaxation's optimum from both sides.

        The linear optimum is a corner, and cutting off one corner at a time converges slowly. A cut
        half-way between a feasible point and the corner cuts deeper. If that middle is feasible, it
        is a better feasible point.
        """
        inside = self.best.astype(float)
        for _ in range(self.linear_rounds_max):
            if self._gap() <= 0 or self._remaining() <= 0 or not self.rows:
                return
            solved = self._relaxation(is_whole=False)
            if solved is None or not solved.is_optimal:
                return
            self.bound = min(self.bound, solved.bound)
            middle = (inside + solved.values) / 2
            if not self._add_broken(middle):
                inside = middle
                self._offer(inside)
            if self.bound - self.sizes @ inside < 0.5 or not self._add_broken(solved.values):
                self._offer(solved.values)
                return

    def _solve_whole(self) -> None:
        for _ in range(self.whole_rounds_max):
            if self._gap() <= 0 or self._remaining() <= 0 or not self.rows:
                return
            solved = self._relaxation(
                is_whole=True,
                time_limit=self._remaining(),
                mip_max_nodes=WHOLE_NODES_MAX,
                mip_rel_gap=0.0,
            )
            if solved is None:
                return
            self.bound = min(self.bound, solved.bound)
            counts = np.round(solved.values)
            self._offer(counts)
            if not self._add_broken(counts):
                return

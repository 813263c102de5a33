"""A simulated processor as an oracle: its lookups have a cost, and its clock is as bad as a real
one.

The simulator (tool/native/tlb) counts lookups that hit and miss in each structure. A burst's ticks
are rounded to the clock's step, and some bursts are interrupted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tautochrone.tlb.discover.processors.oracle import Facts, Pages, Ticks, pages_of
from tautochrone.tlb.geometry import DATA, DIRECTORY, Geometry
from tautochrone.tlb.simulate import Simulator

PAGE_BITS, DIRECTORY_BITS = 26, 9
SETTLING_PASSES, BURSTS = 6, 2


@dataclass(frozen=True)
class Costs:
    """Ticks: of an access, of a miss in each level that another follows, of a walk, of a directory
    entry that the walk has to load. `clock_step`: of the clock. A burst is interrupted with
    probability `interrupted`."""

    access: float = 3.0
    miss: float = 5.0
    walk: float = 28.0
    directory: float = 15.0
    clock_step: float = 26.0
    interrupted: float = 0.1


class SimulatedProcessor:
    """TLBs of a geometry. The caller closes it, or uses it as a context."""

    def __init__(
        self, geometry: Geometry, policy: str, seed: int = 1, costs: Costs | None = None
    ) -> None:
        self.costs = costs or Costs()
        has_directories = any(each.role == DIRECTORY for each in geometry.structures)
        self.facts = Facts(
            name=f"simulated {geometry.name}, {policy}",
            page_bytes=geometry.page_bytes,
            page_bits=PAGE_BITS,
            directory_bits=DIRECTORY_BITS if has_directories else None,
            unit="tick",
            is_shared=False,
        )
        self._simulator = Simulator(geometry, policy, seed, 1)
        self._dice = np.random.default_rng(seed)
        self._page_log2 = np.uint64(geometry.page_bytes.bit_length() - 1)
        self._misses = self._cost_of_misses(geometry)

    def __enter__(self) -> SimulatedProcessor:
        return self

    def __exit__(self, *_error: object) -> None:
        self._simulator.close()

    def _cost_of_misses(self, geometry: Geometry) -> np.ndarray:
        """Ticks of a miss in each structure; the last one of data is followed by a walk."""
        translating = geometry.translating(geometry.page_bytes)
        data = [each for each in translating if each.role == DATA]
        costs = self.costs
        ticks = [
            costs.directory
            if each.role == DIRECTORY
            else 0.0
            if each not in data
            else costs.walk
            if each is data[-1]
            else costs.miss
            for each in geometry.structures
        ]
        return np.array(ticks)

    def _run(self, numbers: Pages) -> float:
        """Ticks of accesses, as the clock shows them."""
        before = self._simulator.lookups()[:, 1]
        self._simulator.run(np.zeros(numbers.size, np.uint32), numbers << self._page_log2)
        missed = self._simulator.lookups()[:, 1] - before
        ticks = numbers.size * self.costs.access + float(missed @ self._misses)
        if self._dice.random() < self.costs.interrupted:
            ticks += self._dice.exponential(5000.0)
        start = self._dice.random() * self.costs.clock_step
        return (start + ticks) // self.costs.clock_step * self.costs.clock_step

    def walk(self, pages: Pages, shuffles: int) -> Ticks:
        passes = max(1, 512 // pages.size)
        ticks = []
        for _ in range(shuffles):
            order = self._dice.permutation(pages)
            self._run(np.tile(order, SETTLING_PASSES))
            ticks += [self._run(np.tile(order, passes)) for _ in range(BURSTS)]
        return np.array(ticks) / (passes * pages.size)

    def after(self, before: Pages, pages: Pages) -> float:
        if before.size:
            self._run(before)
        return self._run(pages_of(pages))

    def baseline(self, count: int, fitting: int) -> float:
        del count, fitting
        return self.costs.access

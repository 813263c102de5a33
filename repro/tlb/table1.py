"""Table I and Figs. 14 to 18 and 20: benchmarks as tasks, colored and with one heap
[P4-20 … P4-22, P4-24]."""

from typing import Any

from repro.tlb.experiment import measured
from repro.tlb.task_sets import FIGURE_18, FIGURE_20, TABLE_1, TaskSet

MS = 50_000
SEEDS = 10
HYPERPERIODS = 2
SETS: dict[str, TaskSet] = {**TABLE_1, "figure18": FIGURE_18, "figure20": FIGURE_20}


def measure(seeds: int = SEEDS, names: tuple[str, ...] = tuple(SETS)) -> dict[str, Any]:
    """Each task set."""
    found = {name: measured(SETS[name], MS, seeds, HYPERPERIODS) for name in names}
    return {"sets": found, "seeds": seeds, "cycles_per_ms": MS}

"""Fig. 19: five to ten tasks, each with a set of its own [P4-23]."""

from typing import Any

from repro.tlb.experiment import measured
from repro.tlb.task_sets import FIGURE_19_LEAST, FIGURE_19_MOST, figure_19

MS = 20_000
SEEDS = 5
HYPERPERIODS = 1


def measure(
    seeds: int = SEEDS, least: int = FIGURE_19_LEAST, most: int = FIGURE_19_MOST
) -> dict[str, Any]:
    """Each number of tasks."""
    found = {
        str(tasks): measured(figure_19(tasks), MS, seeds, HYPERPERIODS)
        for tasks in range(least, most + 1)
    }
    return {"tasks": found, "seeds": seeds, "cycles_per_ms": MS}

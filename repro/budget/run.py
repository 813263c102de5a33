"""The budgeted allocator's paper: `python -m repro.budget.run` (engine/reproduction.py)."""

from __future__ import annotations

import sys

from repro.budget import (
    budget_rules,
    cross_input,
    figure3,
    figure5,
    figure6,
    figure7,
    recordings,
    table1,
)
from repro.budget.derived import derived
from repro.budget.traces import RESULTS
from repro.engine.reproduction import Reproduction, stages_of

REPRODUCTION = Reproduction(
    stored=RESULTS,
    stages={
        "rules": budget_rules.measure,
        **stages_of(table1, figure3),
        "figure5": figure5.measure_32,
        "figure5_host": figure5.measure_host,
        **stages_of(figure6, figure7),  # in this order: figure 7 takes its code sizes from figure 6
        **stages_of(cross_input, recordings),
    },
    derived=derived,
)

if __name__ == "__main__":
    REPRODUCTION.main(sys.argv[1:])

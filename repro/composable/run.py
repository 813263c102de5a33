"""The paper on composable virtual memory: `python -m repro.composable.run`
(engine/reproduction.py).

table1 synthesizes and places: half an hour. All others together take half an hour.
"""

from __future__ import annotations

import sys

from repro.composable import figure9, figure10, memory, set_up, spread, table1, unit
from repro.composable.applications import RESULTS
from repro.composable.derived import derived
from repro.engine.reproduction import Reproduction, stages_of

QUICK_ITERATIONS = 5
REPRODUCTION = Reproduction(
    stored=RESULTS,
    stages=stages_of(memory, unit, figure9, figure10, spread, set_up, table1),
    derived=derived,
    quick={
        **stages_of(memory, unit),
        "figure9": lambda: figure9.with_synthetic(figure9.QUICK, is_order_compared=False),
        "figure10": lambda: figure10.measure(
            figure10.QUICK_IMAGES, QUICK_ITERATIONS, (figure10.ENTRIES_DEFAULT,), (16384,)
        ),
        "spread": lambda: spread.measure(list(figure10.QUICK_IMAGES), QUICK_ITERATIONS, (0,)),
        "set_up": lambda: set_up.measure(fillers=2, walks=0),
    },
)

if __name__ == "__main__":
    REPRODUCTION.main(sys.argv[1:])

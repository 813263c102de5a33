"""The paper on real-time virtual memory: `python -m repro.rtmmu.run` (engine/reproduction.py).

The stages tile_… simulate 6 billion cycles, three to four million a second: half an hour. What has
been simulated is kept under out/ and runs again only if it changes.
"""

from __future__ import annotations

import sys

from repro.engine.reproduction import Reproduction, stages_of
from repro.rtmmu import figures, mechanisms, table1, tile_access, tile_figures, tile_table1, tried
from repro.rtmmu.derived import derived
from repro.rtmmu.drawings import curves, scattered
from repro.rtmmu.workloads import RESULTS

QUICK_ACTIONS = 20_000
REPRODUCTION = Reproduction(
    stored=RESULTS,
    stages=stages_of(table1, figures, tried, mechanisms, tile_table1, tile_figures, tile_access),
    derived=derived,
    drawings={"scattered": scattered, "curves": curves},
    quick={
        "table1": lambda: table1.measure(quick=True),
        "figures": lambda: figures.measure(actions=QUICK_ACTIONS),
        "tried": lambda: tried.measure(seeds=(1, 2), actions=QUICK_ACTIONS),
        "tile_table1": lambda: tile_table1.measure(quick=True),
        "tile_figures": lambda: tile_figures.measure(actions=QUICK_ACTIONS),
    },
)

if __name__ == "__main__":
    REPRODUCTION.main(sys.argv[1:])

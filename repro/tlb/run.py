"""The paper on TLB coloring: `python -m repro.tlb.run` (engine/reproduction.py)."""

from __future__ import annotations

import sys

from repro.engine.reproduction import Reproduction, stages_of
from repro.engine.results import Results
from repro.tlb import bounds, discover, figure6, figure19, isolation, layouts, synthetic, table1
from repro.tlb.derived import derived

REPRODUCTION = Reproduction(
    stored=Results("tlb"),
    stages=stages_of(figure6, discover, isolation, synthetic, table1, figure19, layouts, bounds),
    derived=derived,
)

if __name__ == "__main__":
    REPRODUCTION.main(sys.argv[1:])

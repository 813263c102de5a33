"""The paper on cold code: `python -m repro.coldcode.run` (engine/reproduction.py).

Kernels, runs and plans are kept in the user's cache, so that a second run is short.
"""

from __future__ import annotations

import sys

from repro.coldcode import booted, design_space, goals, profiling, recorded, sweep
from repro.coldcode.derived import derived
from repro.engine.reproduction import Reproduction, stages_of
from repro.engine.results import Results

REPRODUCTION = Reproduction(
    stored=Results("coldcode"),
    stages=stages_of(recorded, profiling, design_space, goals, sweep, booted),
    derived=derived,
)

if __name__ == "__main__":
    REPRODUCTION.main(sys.argv[1:])

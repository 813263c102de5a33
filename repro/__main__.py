"""Reproduces a paper: `python -m repro NAME [--quick] [STAGE …]` (engine/reproduction.py)."""

import sys

from repro.engine.reproduction import Reproduction, names

if __name__ == "__main__":
    if sys.argv[1:2] == [] or sys.argv[1] not in names():
        sys.exit(f"usage: python -m repro NAME; there are {', '.join(names())}")
    Reproduction(sys.argv[1]).main(sys.argv[2:])

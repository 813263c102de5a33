"""Regenerates everything about the paper on TLB coloring: results/, claims.md and
out/repro/tlb/report.html.

python -m repro.tlb.run                     all stages
python -m repro.tlb.run figure6 synthetic   only these, then claims and report
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from typing import Any

from repro import stages
from repro.machine import first_line
from repro.tlb import (
    bounds,
    claims,
    discover,
    figure6,
    figure19,
    isolation,
    layouts,
    measure,
    report,
    shown,
    synthetic,
    table1,
)
from tautochrone import __version__

STAGES: dict[str, Callable[[], dict[str, Any]]] = {
    "figure6": figure6.measure,
    "discover": discover.measure,
    "isolation": isolation.measure,
    "synthetic": synthetic.measure,
    "table1": table1.measure,
    "figure19": figure19.measure,
    "layouts": layouts.measure,
    "bounds": bounds.measure,
    "shown": shown.measure,
}


def conditions() -> dict[str, str]:
    """What the numbers depend on."""
    return {
        "tautochrone": __version__,
        "commit": first_line("git", "rev-parse", "--short", "HEAD"),
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "C library": " ".join(platform.libc_ver()),
        "RV32 compiler": first_line("riscv64-unknown-elf-gcc", "--version"),
        "tile": "Ibex small (two stages) on the simulated tile, TLBs of 16 sets of 4 ways, LRU",
    }


def main(arguments: list[str]) -> None:
    """Run the chosen stages (all if none), then write claims and report."""
    stages.measure(STAGES, arguments, measure.store)
    measure.store("meta", {"conditions": conditions()})
    claims.write()
    report.write()
    print(f"{claims.verdict()}\n{report.PAGE}")


if __name__ == "__main__":
    main(sys.argv[1:])

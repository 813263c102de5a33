"""Regenerates everything about the paper on composable virtual memory: results/, claims.md and
out/repro/composable/report.html.

python -m repro.composable.run                 all stages
python -m repro.composable.run figure9 memory  only these, then claims and report
python -m repro.composable.run --quick         small inputs, into out/repro/composable/quick only

table1 synthesizes and places: half an hour. All others together take half an hour.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from typing import Any

from repro.composable import (
    claims,
    figure9,
    figure10,
    measure,
    memory,
    report,
    set_up,
    shown,
    spread,
    table1,
    unit,
)
from repro import stages
from repro.machine import first_line
from tautochrone import __version__

STAGES: dict[str, Callable[[], dict[str, Any]]] = {
    "memory": memory.measure,
    "unit": unit.measure,
    "figure9": figure9.measure,
    "figure10": figure10.measure,
    "spread": spread.measure,
    "set_up": set_up.measure,
    "shown": shown.measure,
    "table1": table1.measure,
}
QUICK_ITERATIONS = 5
QUICK: dict[str, Callable[[], dict[str, Any]]] = {
    "memory": memory.measure,
    "unit": unit.measure,
    "figure9": lambda: figure9.with_synthetic(figure9.QUICK, is_order_compared=False),
    "figure10": lambda: figure10.measure(
        figure10.QUICK_IMAGES, QUICK_ITERATIONS, (figure10.ENTRIES_DEFAULT,), (16384,)
    ),
    "spread": lambda: spread.measure(list(figure10.QUICK_IMAGES), QUICK_ITERATIONS, (0,)),
    "set_up": lambda: set_up.measure(fillers=2, walks=0),
}


def conditions() -> dict[str, str]:
    """What the numbers depend on."""
    return {
        "tautochrone": __version__,
        "commit": first_line("git", "rev-parse", "--short", "HEAD"),
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "RV32 compiler": first_line("riscv64-unknown-elf-gcc", "--version"),
        "tile": "Ibex small (two stages) on the simulated tile, memories of one cycle",
        "synthesis": "Yosys 0.70 with slang, nextpnr, LFE5U-25F, slowest grade",
    }


def main(arguments: list[str]) -> None:
    """Run the chosen stages (all if none), then write claims and report."""
    quick = "--quick" in arguments
    chosen = [name for name in arguments if name != "--quick"]
    known = QUICK if quick else STAGES
    folder = measure.OUT / "quick" / "results" if quick else measure.RESULTS
    stages.measure(known, chosen, lambda *each: measure.store(*each, folder))
    measure.store("meta", {"conditions": conditions()}, folder)
    if quick:
        print(f"{', '.join(chosen or known)}: see {folder}")
        return
    claims.write()
    report.write()
    print(f"{claims.verdict()}\n{report.PAGE}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Regenerates everything about the paper on real-time virtual memory: results/, claims.md and
out/repro/rtmmu/report.html.

python -m repro.rtmmu.run               all stages
python -m repro.rtmmu.run table1 tried  only these, then claims and report
python -m repro.rtmmu.run --quick       small inputs, into out/repro/rtmmu/quick only

The stages tile_… simulate 6 billion cycles, three to four million a second: half an hour. What has
been simulated is kept under out/ and runs again only if it changes.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from typing import Any

from repro import stages
from repro.machine import first_line
from repro.rtmmu import (
    claims,
    figures,
    measure,
    mechanisms,
    report,
    shown,
    table1,
    tile_access,
    tile_figures,
    tile_table1,
    tried,
)
from tautochrone import __version__

STAGES: dict[str, Callable[[], dict[str, Any]]] = {
    "table1": table1.measure,
    "figures": figures.measure,
    "tried": tried.measure,
    "mechanisms": mechanisms.measure,
    "shown": shown.measure,
    "tile_table1": tile_table1.measure,
    "tile_figures": tile_figures.measure,
    "tile_access": tile_access.measure,
}
QUICK_ACTIONS = 20_000
QUICK: dict[str, Callable[[], dict[str, Any]]] = {
    "table1": lambda: table1.measure(quick=True, out=measure.OUT / "quick"),
    "figures": lambda: figures.measure(actions=QUICK_ACTIONS),
    "tried": lambda: tried.measure(seeds=(1, 2), actions=QUICK_ACTIONS),
    "tile_table1": lambda: tile_table1.measure(quick=True, out=measure.OUT / "quick"),
    "tile_figures": lambda: tile_figures.measure(actions=QUICK_ACTIONS),
}


def conditions() -> dict[str, str]:
    """What the numbers depend on."""
    return {
        "tautochrone": __version__,
        "commit": first_line("git", "rev-parse", "--short", "HEAD"),
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "RV32 compiler": first_line("riscv64-unknown-elf-gcc", "--version"),
        "costs": "instructions and memory accesses of single calls, RV32IMC at -O2, check level 0",
        "tile": "Ibex small (two stages) on the simulated tile, tables of 1, 1 and 2 cycles",
        "pages": "4 KiB, a space of 2^20 pages, a heap of 2^18 (1 GiB of addresses)",
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
    print(f"{report.verdict()}\n{report.PAGE}")


if __name__ == "__main__":
    main(sys.argv[1:])

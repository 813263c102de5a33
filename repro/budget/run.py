"""Regenerates everything about the budgeted allocator's paper: results/, claims.md and
out/repro/budget/report.html.

python -m repro.budget.run               all stages
python -m repro.budget.run table1 figure3    only these, then claims and report
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from typing import Any

from repro.budget import (
    budget_report,
    budget_rules,
    claims,
    cross_input,
    figure3,
    figure5,
    figure6,
    figure7,
    recordings,
    table1,
)
from repro.budget.measure import OUT, REPOSITORY, import_events, store
from repro import stages
from repro.machine import first_line
from tautochrone import __version__


def measure_figure3() -> dict[str, Any]:
    """Fig. 3 with the counts that the greedy finds on its trace."""
    trace = import_events(OUT / "traces" / "figure3.tau", figure3.events())
    instants = table1.instants_of(trace)
    return figure3.measure(table1.greedy.budget(instants).counts)


# In an order in which each finds what it needs: figure 7 takes its code sizes from figure 6.
STAGES: dict[str, Callable[[], dict[str, Any]]] = {
    "rules": budget_rules.measure,
    "table1": table1.measure,
    "figure3": measure_figure3,
    "figure5": figure5.measure_32,
    "figure5_host": figure5.measure_host,
    "figure6": figure6.measure,
    "figure7": figure7.measure,
    "cross_input": cross_input.measure,
    "recordings": recordings.measure,
}


def conditions() -> dict[str, str]:
    """What the numbers depend on."""
    return {
        "tautochrone": __version__,
        "commit": first_line("git", "rev-parse", "--short", "HEAD"),
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "gcc": first_line("gcc", "--version"),
        "RV32 compiler": first_line("riscv64-unknown-elf-gcc", "--version"),
        "M4 compiler": first_line("arm-none-eabi-gcc", "--version"),
        "Rust": first_line("/usr/bin/rustc", "--version"),
        "footprints": "smallest heap that completes, resolution 8 bytes, 32-bit layout unless said",
    }


def main(chosen: list[str]) -> None:
    """Run the chosen stages (all if none), then write claims and report."""
    stages.measure(STAGES, chosen, store)
    store("meta", {"conditions": conditions()})
    claims.write()
    budget_report.write()
    print(f"{budget_report.verdict()}\n{OUT.relative_to(REPOSITORY)}/report.html")


if __name__ == "__main__":
    main(sys.argv[1:])

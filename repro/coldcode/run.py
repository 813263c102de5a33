"""Regenerates everything about the paper on cold code: results/, claims.md and
out/repro/coldcode/report.html.

python -m repro.coldcode.run                   all stages
python -m repro.coldcode.run sweep booted      only these, then claims and report

Kernels, runs and plans are kept in the user's cache, so that a second run is short.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from typing import Any

from repro import stages
from repro.coldcode import (
    booted,
    claims,
    design_space,
    goals,
    measure,
    profiling,
    recorded,
    report,
    shown,
    sweep,
)
from repro.machine import first_line
from tautochrone import __version__
from tautochrone.coldcode.linux.build import compiler_tools
from tautochrone.coldcode.linux.qemu import EMULATOR

STAGES: dict[str, Callable[[], dict[str, Any]]] = {
    "recorded": recorded.measure,
    "profiling": profiling.measure,
    "design_space": design_space.measure,
    "goals": goals.measure,
    "sweep": sweep.measure,
    "booted": booted.measure,
    "shown": shown.measure,
}


def conditions() -> dict[str, str]:
    """What the numbers depend on."""
    return {
        "tautochrone": __version__,
        "commit": first_line("git", "rev-parse", "--short", "HEAD"),
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "compiler": first_line(compiler_tools()["compiler"], "--version"),
        "emulator": first_line(EMULATOR, "--version"),
        "kernel": "Linux 6.12 of Debian's linux-source-6.12, configuration embedded, -Os",
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

"""Our systems on a trace: instructions per call at each check level, the stated bound, footprints.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tautochrone import emulator
from tautochrone.plan import Plan, load_plan
from tautochrone.replay import smallest_heap

from images import OUT

PLANS = OUT.parent / "plans"


def plan_of(trace: Path, planner: str = "replayed") -> Plan:
    """The plan that `tau plan` makes of a trace; kept in out/bench until the next whole run."""
    path = PLANS / f"{trace.stem}-{planner}.toml"
    if not path.exists():
        PLANS.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tautochrone", "plan", str(trace)]
        command += ["--planner", planner, "-o", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise RuntimeError(f"planning {trace.name} failed: {done.stderr.strip()}")
    return load_plan(path)


def counts(
    system: str, isa: str, trace: Path, check_level: int = 0, optimize: str = "-O2"
) -> emulator.Counts:
    """Instructions per call; a budget uses the replayed plan of the trace itself."""
    image = emulator.core_image(system, isa, check_level, optimize)
    plan = plan_of(trace) if system == "budget" else None
    return emulator.count_calls(image, trace, plan=plan)


def footprint(system: str, trace: Path, layout: str = "32") -> int:
    """The smallest heap, control structures included."""
    plan = plan_of(trace) if system == "budget" else None
    return smallest_heap(trace, system, plan=plan, layout=layout)

"""Our systems on a trace: instructions per call at each check level, the stated bound, footprints.
"""

import functools
from pathlib import Path

from tautochrone.machine.core_build import FASTEST, Build
from tautochrone.plan.file import Plan
from tautochrone.heap.guarantee import make_guarantee
from tautochrone.heap.plan import Wanted, make_plan
from tautochrone.replay import emulator, run


@functools.cache
def plan_of(trace: Path, planner: str = "replayed", layout: str = "32") -> Plan:
    """The plan that `tau plan` makes of a trace."""
    return make_plan([trace], Wanted(planner, layout=layout, build=FASTEST)).plan


@functools.cache
def bands_of(trace: Path, layout: str = "32") -> Plan:
    """The plan that `tau plan --guarantee --margin 0` makes of a trace."""
    return make_guarantee([trace], 0.0, layout, FASTEST).plan


def counts(
    system: str, isa: str, trace: Path, check_level: int = 0, optimize: str = "-O2"
) -> emulator.Counts:
    """Instructions per call; a budget uses the replayed plan of the trace itself."""
    image = emulator.core_image(system, isa, Build(check_level, optimize))
    plan = plan_of(trace) if system == "budget" else None
    return emulator.count_calls(image, trace, plan=plan)


def safe_heap(trace: Path, system: str, plan: Plan | None = None, layout: str = "32") -> int:
    """The heap from which on every size holds, control structures included.

    See replay/threshold.py; of pools, every sampled size (replay/search.py). A system that grows
    its heap: the memory that it took. A plan without classes is plain TLSF, as the plan itself
    says.
    """
    if plan is not None and not plan.classes:
        system, plan = "tlsf", None
    return run.safe_heap(trace, system, plan, layout)

"""Figs. 7 and 8: placements × policies × frames at T = 99.9 %; and the same placements under other
inputs, and under work that no plan was made from [P3-29]; and ours with other seeds of its
search."""

import itertools
from typing import Any

import numpy as np

from repro.coldcode import kernels, planned
from repro.coldcode.planned import OTHERS, Wanted
from repro.coldcode.planners import REPLAYED
from tautochrone.coldcode.placement import SEED, Touched, place
from tautochrone.coldcode.planning import cold_of, with_pages
from tautochrone.coldcode.replay import BELADY, POLICIES

PART = 0.999
FRAMES = (8, 16, 32, 64)
SEEDS, SEEDS_FRAMES = range(SEED, SEED + 6), (16, 32)
POLICY = "round-robin"
WORKS = {"programs": kernels.PROGRAMS, "held_out": kernels.HELD_OUT, "system": kernels.SYSTEM}


def row(planner: str, frames: int) -> dict[str, Any]:
    """A placement with so many frames, under each kind of work and each policy."""
    asked = frames if planner == REPLAYED else FRAMES[1]
    plan = planned.made(Wanted(PART, planner, asked)).plan
    found: dict[str, Any] = {"planner": planner, "frames": frames, "pages": len(plan.pages)}
    for name, work in WORKS.items():
        touches = planned.touches_of(plan, work)
        found[name] = {policy: planned.loads(touches, frames, policy) for policy in POLICIES}
        found[name][BELADY] = planned.loads(touches, frames, BELADY)
        found[name]["pages_touched"] = len(np.unique(touches.pages))
    return found


def bound(name: str, frames: int) -> int:
    """Loads that no placement and no policy comes below."""
    is_cold = planned.made(Wanted(PART)).plan.is_cold
    return Touched(cold_of(planned.code_at(WORKS[name]), is_cold, frames)).faults_bound()


def of_seeds(frames: int) -> dict[str, list[int]]:
    """Loads of our placement under the recorded work and other inputs, for each seed."""
    plan = planned.made(Wanted(PART, REPLAYED, frames)).plan
    cold = cold_of(plan.code, plan.is_cold, frames)
    plans = [with_pages(plan.code, plan.split, plan.cache, place(cold, seed)) for seed in SEEDS]
    return {
        name: [planned.loads(planned.touches_of(each, work), frames, POLICY) for each in plans]
        for name, work in WORKS.items()
    }


def measure() -> dict[str, Any]:
    """All combinations, and the bounds."""
    rows = [row(*key) for key in itertools.product((REPLAYED, *OTHERS), FRAMES)]
    plan = planned.made(Wanted(PART)).plan
    return {
        "part": PART,
        "rows": rows,
        "bounds": {name: {str(n): bound(name, n) for n in FRAMES} for name in WORKS},
        "seeds": {str(frames): of_seeds(frames) for frames in SEEDS_FRAMES},
        "executed_cold_bytes": planned.executed_bytes(plan.code, plan.is_cold),
    }

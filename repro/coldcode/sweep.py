"""Figs. 4 to 6: sizes, and faults of each placement, by the threshold T [P3-25 … P3-27]."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from repro.coldcode import kernels, planned
from repro.coldcode.planned import OTHERS, Wanted
from repro.coldcode.planners import REPLAYED
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.pieces import threshold_of

PARTS = (1.0, 0.9999, 0.9995, 0.999, 0.998, 0.995, 0.99)
PARTS_OF_SIZES = (*PARTS, 0.98, 0.97, 0.96, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5)
FRAMES = (16, 32, 64)
POLICIES = ("nru", "round-robin")


def sizes() -> list[dict[str, Any]]:
    """Code that stays by T. By counts alone, so code that was touched too often to be replayed is
    included."""
    code = planned.code_at(kernels.PROGRAMS)
    code = replace(code, truncated=np.zeros_like(code.truncated))
    rows = []
    for part in PARTS_OF_SIZES:
        is_cold = code.cold_at(threshold_of(code, part).hot_count)
        swappable = int(code.sizes_bytes[is_cold].sum())
        rows.append(
            {
                "part": part,
                "resident_bytes": code.resident_bytes(is_cold),
                "swappable_bytes": swappable,
                "executed_cold_bytes": planned.executed_bytes(code, is_cold),
                "page_bytes": -(-swappable // PAGE_BYTES) * PAGE_BYTES,
            }
        )
    return rows


def row(part: float, planner: str, frames: int) -> dict[str, Any]:
    """A placement at T, with the faults of each policy."""
    # The paper's placements do not ask for frames: one plan serves all.
    asked = frames if planner == REPLAYED else FRAMES[0]
    made = planned.made(Wanted(part, planner, asked))
    touches = made.plan.touches
    resident = made.plan.core_bytes + made.plan.base_bytes
    return {
        "part": part,
        "planner": planner,
        "frames": frames,
        "pages": len(made.plan.pages),
        "pages_touched": len(np.unique(touches.pages)),
        "resident_bytes": resident,
        "ram_bytes": resident + frames * PAGE_BYTES,
        "seconds": made.seconds,
        "loads": {name: planned.loads(touches, frames, name) for name in POLICIES},
    }


def measure() -> dict[str, Any]:
    """Every T, placement and number of frames."""
    planners = (REPLAYED, *OTHERS)
    rows = [row(*key) for key in itertools.product(PARTS, planners, FRAMES)]
    return {"sizes": sizes(), "rows": rows}

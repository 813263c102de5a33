"""What a user asks for: a plan for so much RAM, compared with the paper's point of T = 99.9 % and
16 frames. T and frames are results."""

from typing import Any

from repro.coldcode import kernels, planned
from repro.coldcode.planned import Wanted
from tautochrone.coldcode.linux.run import sizes_of
from tautochrone.coldcode.placement import Touched
from tautochrone.coldcode.planning import cold_of

MORE_BYTES = 64 << 10
OUT_OF_RAM, PAGER_BYTES = 0.86, 14 << 10  # A part of the code; the pager, and what a link adds.
PART, FRAMES = 0.999, 16


def wanted() -> dict[str, Wanted]:
    """The paper's point, a plan of its RAM as it is linked, one of more, and one that leaves
    OUT_OF_RAM of the code out of it."""
    kept = int(sizes_of(kernels.baseline()).text * (1 - OUT_OF_RAM))
    ram = planned.linked(Wanted(PART, frames=FRAMES))[0].plan.ram_bytes
    return {
        "point": Wanted(PART, frames=FRAMES),
        "same_ram": Wanted(None, frames=FRAMES, ram_bytes=ram),
        "more_ram": Wanted(None, frames=FRAMES, ram_bytes=ram + MORE_BYTES),
        "less_ram": Wanted(None, frames=FRAMES, ram_bytes=kept - PAGER_BYTES),
    }


def row(one: Wanted) -> dict[str, Any]:
    """A plan, with its faults under the programs and under other inputs."""
    made = planned.linked(one)[0]
    plan, frames = made.plan, made.plan.cache.frames
    held_out = planned.touches_of(plan, kernels.HELD_OUT)
    cold = cold_of(planned.code_at(kernels.HELD_OUT), plan.is_cold, frames)
    return {
        "part": plan.split.part,
        "frames": frames,
        "pages": len(plan.pages),
        "ram_bytes": plan.ram_bytes,
        "seconds": made.seconds,
        "loads": plan.faults,
        "bound": plan.bound,
        "held_out_loads": planned.loads(held_out, frames, plan.cache.policy),
        "held_out_bound": Touched(cold).faults_bound(),
    }


def measure() -> dict[str, Any]:
    """Each plan."""
    return {name: row(one) for name, one in wanted().items()}

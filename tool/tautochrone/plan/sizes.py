"""Whether recorded sizes are those that the target's program asks for [PLAN-20].

A pool holds objects of one exact size. A structure with pointers has another size on another ABI,
so a plan from such a recording has pools that nothing hits, and a shared region that was never
measured as it will be filled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.plan.file import STATED
from tautochrone.trace import abi

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan
    from tautochrone.trace.file import TraceReader

EXACT, TRANSLATED, AS_RECORDED, ESTIMATE = "exact", "translated", "as-recorded", "estimate"
# How to have the target's sizes; docs/tutorials/size-a-heap.md shows each.
WAYS = (
    "record the firmware itself, in QEMU or on the board, with core/ports/record_wrap.c;"
    " or a build for 32-bit Arm Linux: tau record --target armhf -- ./program;"
    " or translate with the debug information of both builds: tau translate"
)
OTHER = "--sizes-as-recorded takes them as they are, without pools"


def layout_of(readers: Sequence[TraceReader], given: str | None) -> str:
    """The layout to plan for: `given`, else the recordings' ABI's, else a 32-bit target's.

    Raises TauError for recordings of several ABIs.
    """
    names = {name for reader in readers if (name := abi.of_header(reader.header))}
    if len(names) > 1:
        each = ", ".join(f"{reader.path.name} {_said(reader)}" for reader in readers)
        raise TauError(
            f"recordings of several ABIs: {each}",
            "plan from recordings of one ABI, the target's",
            EXIT_USAGE,
        )
    return given or abi.own_layout({"abi": "".join(names)})


def _said(reader: TraceReader) -> str:
    return abi.of_header(reader.header) or "(none stated)"


def sizes_of(readers: Sequence[TraceReader], layout: str, is_as_recorded: bool) -> str:
    """A plan's claim about its sizes: the weakest that holds for one of its recordings."""
    found = {_sizes_of(reader, layout) for reader in readers}
    weakest = next(each for each in (ESTIMATE, STATED, TRANSLATED, EXACT) if each in found)
    return AS_RECORDED if weakest == ESTIMATE and is_as_recorded else weakest


def _sizes_of(reader: TraceReader, layout: str) -> str:
    name = abi.of_header(reader.header)
    if not name:
        return STATED
    if not abi.fits(name, layout):
        return ESTIMATE
    return TRANSLATED if abi.translated_from(reader.header) else EXACT


def remark(plan: Plan) -> str:
    """A sentence on the sizes of a plan, if these are not simply the target's; else empty."""
    abis = ", ".join(dict.fromkeys(trace.abi for trace in plan.traces if trace.abi))
    target = "a 32-bit target" if plan.layout == "32" else "a 64-bit machine"
    if plan.sizes == ESTIMATE:
        return abi.estimate_of(abis, plan.layout)
    if plan.sizes == AS_RECORDED:
        return f"for {target}, without pools: sizes recorded on {abis} are taken as they are"
    if plan.sizes == TRANSLATED:
        sources = ", ".join(dict.fromkeys(t.translated_from for t in plan.traces if t.abi))
        return f"the sizes were translated from {sources} to {abis}"
    if plan.sizes == STATED and plan.traces:
        names = ", ".join(trace.name for trace in plan.traces if not trace.abi)
        return f"{names} names no ABI, so its sizes count as sizes of {target}"
    return ""


def refuse_header(plan: Plan) -> None:
    """Raise TauError if a firmware must not be built from this plan."""
    if plan.sizes == ESTIMATE:
        raise TauError(f"no header is written: this is {remark(plan)}", f"{WAYS}; or {OTHER}")

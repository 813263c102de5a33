"""Bytes of heaps that hold the recorded order of calls and promise nothing for other orders."""

from __future__ import annotations

from typing import NamedTuple

from tautochrone.errors import TauError
from tautochrone.heap.guarantee import Guaranteed
from tautochrone.heap.plan import Wanted, make_plan
from tautochrone.heap.recordings import ReplayedRecording
from tautochrone.heap.safe import safe_heap


class RecordedOrder(NamedTuple):
    """The safe heaps in bytes of all recordings, without a margin.

    `tlsf_bytes`: of plain TLSF; None: no heap of the layout holds them. `plan_bytes`: of a plan
    without a guarantee; None: not searched.
    """

    tlsf_bytes: int | None
    plan_bytes: int | None


def recorded_order(made: Guaranteed, wanted: Wanted, is_compared: bool) -> RecordedOrder:
    """Measure plain TLSF on the recordings of a guarantee; with `is_compared` search a plan, too.

    A plan takes longer than the guarantee, plain TLSF less.
    """
    if is_compared:
        found = make_plan(made.readers, wanted).found
        return RecordedOrder(found.plain_heap_bytes, found.heap_bytes)
    layout = made.plan.layout
    try:
        recordings = [ReplayedRecording(each, layout, wanted.build) for each in made.readers]
        return RecordedOrder(safe_heap(recordings, ()), None)
    except TauError:  # too large for the layout
        return RecordedOrder(None, None)


def told(order: RecordedOrder) -> list[str]:
    """The lines for people."""
    only = "bytes at least, and for the recorded order only"
    tlsf = f"{order.tlsf_bytes:>14,} {only}" if order.tlsf_bytes else "holds them in no heap"
    plan = f"{order.plan_bytes:>14,} {only}" if order.plan_bytes else "add --compare to search it"
    return [f"plain TLSF       {tlsf}", f"recorded plan    {plan}"]

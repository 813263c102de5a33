"""When a plan of bands promises that no call fails, and which sizes its bands have."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from tautochrone.plan.file import Plan, bucket_bytes


def ranges(blocks: Iterable[int]) -> dict[int, str]:
    """The sizes of each band in words, by its block; `blocks` ascend."""
    return {high: f"{low + 1:,} … {high:,} bytes" for low, high in pairwise([0, *blocks])}


def sentence(plan: Plan) -> str:
    """The contract of a plan of bands."""
    below, parts = 0, []
    for size_bytes, count in plan.classes:
        block = bucket_bytes(size_bytes, plan.alignment_unit)
        range_ = f"of {below + 1:,} to {block:,} bytes" if below else f"of up to {block:,} bytes"
        parts.append(f"{count:,} {range_}")
        below = block
    promise = f"No call fails while at most {', '.join(parts)} are alive, in any order."
    unit, most = plan.alignment_unit, plan.alignment_bytes
    if most == unit:
        return f"{promise} Larger sizes, and alignments above {unit} bytes, have no band."
    return (
        f"{promise} A size with an alignment above {unit} bytes counts as rounded up to it. Larger"
        f" sizes have no band. Nor have alignments above {most:,} bytes, or alignments that do not"
        " divide the band's largest size."
    )

"""Traces that need no program: the same events on every machine, for numbers that are pinned.

`small` has sizes of 1 to 256 bytes, `mixed` of 1 to 16 KiB in all magnitudes, `growing` is about
realloc. Each step allocates, frees or resizes a random object; the number of live objects swings
between few and many, so that blocks split, merge and are probed in every way.
"""

import functools
from pathlib import Path

from bench.allocators.programs import TRACES
from bench.programs import numbers
from bench.recording import write_trace
from tautochrone.trace.file import OPS

STEPS = 30_000
MALLOC, CALLOC, REALLOC, ALIGNED_ALLOC, FREE, TOUCH = range(len(OPS))
# Name: bytes of the largest object as a power of two, percent of resizes, most live objects, seed.
KINDS = {"small": (8, 5, 600, 11), "mixed": (14, 10, 300, 12), "growing": (12, 45, 150, 13)}


def events(kind: str) -> list[tuple[int, int, int, int]]:
    """(op, slot, size in bytes, log2 of the alignment or 0) of a kind."""
    size_log2, resize_percent, live_max, seed = KINDS[kind]
    below = numbers(seed)
    live: list[int] = []
    spare: list[int] = []
    aligned: set[int] = set()  # never resized: C's realloc does not keep an alignment, ours does
    slots = 0
    result = []
    for step in range(STEPS):
        # Long tides: a third of the time most steps allocate, then most free.
        rising = 70 if (step // 1500) % 3 else 35
        size = 1 + below(1 << (1 + below(size_log2)))
        resized = live[below(len(live))] if live and below(100) < resize_percent else None
        if resized is not None and resized not in aligned:
            result.append((REALLOC, resized, size, 0))
        elif (below(100) < rising and len(live) < live_max) or not live:
            slot = spare.pop() if spare else slots
            slots = max(slots, slot + 1)
            chance = below(20)
            op = CALLOC if chance == 0 else ALIGNED_ALLOC if chance == 1 else MALLOC
            live.append(slot)
            (aligned.add if op == ALIGNED_ALLOC else aligned.discard)(slot)
            result.append((op, slot, size, 4 + below(4) if op == ALIGNED_ALLOC else 0))
        else:
            position = below(len(live))
            live[position], live[-1] = live[-1], live[position]
            spare.append(live.pop())
            result.append((FREE, spare[-1], 0, 0))
    return result


@functools.cache
def trace(kind: str) -> Path:
    """The trace of a kind in out/bench/traces, made once per process."""
    path = TRACES / f"synthetic-{kind}.tau"
    return write_trace(path, "bench/allocators/synthetic.py", events(kind))

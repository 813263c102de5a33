"""Writes random traces for the tests of replay, emulator and bounds. Prints the seed of each."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tautochrone.trace.file import TraceWriter

MALLOC, CALLOC, REALLOC, ALIGNED_ALLOC, FREE = range(5)
Event = tuple[int, int, int, int]  # op, slot, size_bytes, align_log2


def random_events(
    seed: int,
    events: int = 4000,
    live_max: int = 60,
    sizes: Sequence[int] | None = None,
    others: bool = True,
) -> list[Event]:
    """Random events: half allocations; with `others` also calloc, realloc, alignment and size 0."""
    print(f"seed {seed}")
    source = random.Random(seed)
    made: list[Event] = []
    free_slots: list[int] = []
    live: list[int] = []
    slots = 0

    def size() -> int:
        if sizes:
            return source.choice(sizes)
        if others and source.random() < 0.01:
            return 0
        return int(2 ** source.uniform(0, 12))

    while len(made) < events:
        if live and (len(live) >= live_max or source.random() < 0.5):
            place = source.randrange(len(live))
            if others and source.random() < 0.3:
                made.append((REALLOC, live[place], max(size(), 1), 0))
                continue
            live[place], live[-1] = live[-1], live[place]
            free_slots.append(live.pop())
            made.append((FREE, free_slots[-1], 0, 0))
            continue
        if free_slots:
            slot = free_slots.pop()
        else:
            slot = slots
            slots += 1
        live.append(slot)
        kind = source.random() if others else 1.0
        if kind < 0.1:
            made.append((ALIGNED_ALLOC, slot, max(size(), 1), source.randrange(3, 13)))
        else:
            made.append((CALLOC if kind < 0.3 else MALLOC, slot, size(), 0))
    return made


def write_events(
    path: Path,
    events: Sequence[Event],
    flags: Sequence[int] | None = None,
    abi: str = "",
    ended: str = "exit",
) -> Path:
    """Write events as a trace; `flags` are enum tau_trace_flag of each, `abi` is of the sizes.

    `ended` says how the recording ended [TRACE-47].
    """
    columns = np.array(events, dtype=np.uint64).reshape(-1, 4)
    with TraceWriter(path, {"command": ["random"], "abi": abi, "ended": ended}) as writer:
        writer.append(
            op=columns[:, 0].astype(np.uint8),
            slot=columns[:, 1].astype(np.uint32),
            size_bytes=columns[:, 2],
            align_log2=columns[:, 3].astype(np.uint8),
            time_ns=np.arange(len(columns), dtype=np.uint64),
            flags=None if flags is None else np.array(flags, dtype=np.uint8),
        )
    return path


def random_trace(path: Path, seed: int, **settings: object) -> Path:
    """Write random events (see random_events) as a trace."""
    return write_events(path, random_events(seed, **settings))  # type: ignore[arg-type]


def peak_live_bytes(events: Sequence[Event]) -> int:
    """The most bytes live at once, counted naively."""
    live: dict[int, int] = {}
    peak = 0
    for op, slot, size_bytes, _ in events:
        if op == FREE:
            del live[slot]
        else:
            live[slot] = size_bytes
        peak = max(peak, sum(live.values()))
    return peak

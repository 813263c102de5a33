"""Recordings for the tests of plans, naive results for them, and a basis of sections."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tautochrone.machine.core_build import Build
from tautochrone.heap.profile import Instants, profile_of
from tautochrone.plan.sections import Basis
from tautochrone.replay.open_trace import open_trace_for_replay
from testing.random_trace import FREE, MALLOC, Event, write_events


def come_and_go(
    seed: int, sizes: Sequence[int], live_max: int, events: int, grows: float = 0.5
) -> list[Event]:
    """Random mallocs and frees, at most `live_max` live objects of each size. Prints the seed."""
    print(f"seed {seed}")
    source = random.Random(seed)
    live: list[tuple[int, int]] = []
    free_slots: list[int] = []
    counts = dict.fromkeys(sizes, 0)
    made: list[Event] = []
    slots = 0
    while len(made) < events:
        open_sizes = [size for size in sizes if counts[size] < live_max]
        if open_sizes and (not live or source.random() < grows):
            if not free_slots:
                free_slots.append(slots)
                slots += 1
            size = source.choice(open_sizes)
            counts[size] += 1
            live.append((free_slots.pop(), size))
            made.append((MALLOC, live[-1][0], size, 0))
        else:
            slot, size = live.pop(source.randrange(len(live)))
            counts[size] -= 1
            free_slots.append(slot)
            made.append((FREE, slot, 0, 0))
    return made


def counts_over_time(events: Sequence[Event], sizes: Sequence[int]) -> np.ndarray:
    """P_i(t), one row per event, one column per size; sizes must be the objects' own [P1-10]."""
    live: dict[int, int] = {}
    counts = dict.fromkeys(sizes, 0)
    rows = []
    for op, slot, size, _ in events:
        if slot in live:
            counts[live.pop(slot)] -= 1
        if op != FREE:
            live[slot] = size
            counts[size] += 1
        rows.append([counts[size] for size in sizes])
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(sizes))


def budgeted_bytes(rows: np.ndarray, sizes: Sequence[int], counts: Sequence[int]) -> np.ndarray:
    """U^B(t) of Eq 4 [P1-12]."""
    return np.maximum(rows, np.array(counts)) @ np.array(sizes)


def greedy_as_printed(rows: np.ndarray, sizes: Sequence[int]) -> list[int]:
    """Fig. 4 of the paper with Eq 17 and 18, term by term [P1-16]; sizes fall."""
    u_max = int((rows @ np.array(sizes)).max())
    chosen: list[int] = []
    for i, size in enumerate(sizes):
        m_i = np.full(len(rows), u_max)
        for j in range(i):
            m_i = m_i - sizes[j] * np.maximum(chosen[j], rows[:, j])
        for j in range(i + 1, len(sizes)):
            m_i = m_i - sizes[j] * rows[:, j]
        chosen.append(min(int(rows[:, i].max()), int(m_i.min()) // size))
    return chosen


def dedicated_bytes(instants: Instants, counts: Sequence[int]) -> int:
    """Eq 7 [P1-13]."""
    return sum(size * count for size, count in zip(instants.sizes_bytes, counts, strict=True))


def instants_of(path: Path, events: Sequence[Event], sizes: Sequence[int]) -> Instants:
    """Write the events as a recording and reduce its profile to classes of `sizes`."""
    return profile_of([write_events(path, events)]).reduce(sizes)


def basis_of(said: list[tuple[str, str | None]], *paths: Path, **changed: Any) -> Basis:
    """A basis of recordings; its notes are appended to `said`."""
    facts = {
        "traces": [open_trace_for_replay(path) for path in paths],
        "skip_misuse": False,
        "layout": "32",
        "system": "tlsf",
        "heap_bytes": 1,
        "build": Build(),
        "note": lambda *words: said.append(words),
    }
    return Basis(**facts | changed)

"""How long the planners take at 64 classes and a million events, and how good they are.

Run `python -m bench planners`; it writes out/bench/planners.json. Two recordings are made, both
of 64 random sizes from 8 to 4000 bytes. In *churn* objects come and go for ever at random, so
that nearly every instant is a different mix and can bind: the hardest case for a planner. In
*phases* live memory swings, each phase with its own favorite sizes, as programs do.

Seconds are processor time, all threads together, from the file to the counts: what else runs on the
machine does not change them. The same is also given in readings: how often the recording could have
been decoded in that time, in the same run. A whole plan (`tau plan`: profile, search, thresholds)
is made of a shorter recording of each kind.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.runner import Bench
from tautochrone.heap.plan import Wanted, make_plan
from tautochrone.heap.planners import Budget, exact, greedy
from tautochrone.heap.profile import Instants, profile_of
from tautochrone.trace.file import TraceWriter, open_trace

EVENTS = 1_000_000
CLASSES = 64
PLAN_EVENTS = 100_001
SEED = 20080213  # the day the paper was received
REPEATS = 5


def write_recording(path: Path, events: int, phases: int, seed: int) -> None:
    """A recording of `events` random events over CLASSES sizes, its live memory in `phases` swings.

    `phases` 0 is churn: an event allocates or frees with equal chance, at most 200 objects a size.
    """
    random = np.random.default_rng(seed)
    sizes = random.choice(np.arange(1, 501), CLASSES, replace=False) * 8
    live: list[tuple[int, int]] = []
    free_slots: list[int] = []
    counts = [0] * CLASSES
    op, slot, size_bytes = np.zeros(events, "u1"), np.zeros(events, "u4"), np.zeros(events, "u8")
    draws = random.random(events)
    picks = random.integers(0, 1 << 30, events)
    slots_count = 0
    for at in range(events):
        grows = 0.5
        first = 0
        if phases:
            within = at * phases % events / events
            grows = 0.75 if within < 0.5 else 0.25
            first = at * phases // events * 7
        kind = (first + int(picks[at]) % (16 if phases else CLASSES)) % CLASSES
        if not live or (draws[at] < grows and counts[kind] < (4000 if phases else 200)):
            if not free_slots:
                free_slots.append(slots_count)
                slots_count += 1
            slot[at], size_bytes[at] = free_slots.pop(), sizes[kind]
            live.append((int(slot[at]), kind))
            counts[kind] += 1
        else:
            chosen = int(picks[at]) % len(live)
            live[chosen], live[-1] = live[-1], live[chosen]
            slot[at], kind = live.pop()
            op[at] = 4
            counts[kind] -= 1
            free_slots.append(int(slot[at]))
    with TraceWriter(path, {"program": "bench/planners"}) as writer:
        writer.append(op=op, slot=slot, size_bytes=size_bytes)


def seconds_of(action: Callable[[], object], repeats: int) -> float:
    """The median processor time of `repeats` runs."""
    taken = []
    for _ in range(repeats):
        started = time.process_time()
        action()
        taken.append(time.process_time() - started)
    return sorted(taken)[len(taken) // 2]


def planned(path: Path, budget: Callable[[Instants], Budget]) -> tuple[Instants, Budget]:
    """From the file to the counts, everything included."""
    profile = profile_of([path])
    instants = profile.reduce([size.size_bytes for size in profile.sizes])
    return instants, budget(instants)


def dedicated_share(instants: Instants, budget: Budget) -> float:
    """Eq 7 as a part of U_max."""
    pairs = zip(instants.sizes_bytes, budget.counts, strict=True)
    return sum(size * count for size, count in pairs) / instants.limit_bytes


def read_whole(path: Path) -> None:
    """Decode every block."""
    with open_trace(path) as reader:
        for _ in reader.blocks():
            pass


def whole_plan(path: Path) -> dict[str, Any]:
    """What a plan of a recording costs."""
    reading = seconds_of(lambda: read_whole(path), REPEATS)
    started = time.process_time()
    made = make_plan([path], Wanted(layout="32"))
    seconds = time.process_time() - started
    return {
        "plan_events": made.plan.traces[0].events,
        "plan_seconds": round(seconds, 2),
        "plan_readings": round(seconds / reading),
        "plan_replays": made.replays,
        "plan_over_peak": round(made.plan.heap_bytes / made.least_bytes, 5),
    }


def measure(
    name: str, phases: int, folder: Path, events: int, repeats: int, plan_events: int
) -> dict[str, Any]:
    """One recording's row of the result."""
    short = folder / f"{name}_short.tau"
    write_recording(short, plan_events, phases, SEED)
    path = folder / f"{name}.tau"
    write_recording(path, events, phases, SEED)
    reading = seconds_of(lambda: read_whole(path), repeats)
    greedy_seconds = seconds_of(lambda: planned(path, greedy.budget), repeats)
    instants, greedy_budget = planned(path, greedy.budget)
    exact_seconds = seconds_of(lambda: planned(path, exact.budget), 1)
    instants, exact_budget = planned(path, exact.budget)
    return {
        "recording": name,
        "seed": SEED,
        "events": events,
        "classes": len(instants.sizes_bytes),
        "instants_kept": instants.count,
        "greedy_seconds": round(greedy_seconds, 4),
        "greedy_readings": round(greedy_seconds / reading, 2),
        "exact_seconds": round(exact_seconds, 4),
        "greedy_dedicated_share": round(dedicated_share(instants, greedy_budget), 6),
        "exact_dedicated_share": round(dedicated_share(instants, exact_budget), 6),
        "exact_optimal_within": round(exact_budget.optimal_within, 6),
        **whole_plan(short),
    }


def run(
    folder: Path, events: int = EVENTS, repeats: int = REPEATS, plan_events: int = PLAN_EVENTS
) -> list[dict[str, Any]]:
    """Both recordings."""
    phases = {"churn": 0, "phases": 9}
    given = (folder, events, repeats, plan_events)
    return [measure(name, count, *given) for name, count in phases.items()]


BENCH = Bench("planners", lambda given: run(given.folder))

"""Random events that keep the rules, and the totals of a trace computed the slow, plain way."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tautochrone.facts import trace_format as form
from tautochrone.trace.file import EVENT, Columns, TraceWriter, open_trace

SIZES = (0, 1, 7, 8, 24, 100, 1023, 1024, 4096, 70_000, 2**32 - 1, 2**32, 2**40, 2**63, 2**64 - 1)
MALLOC, CALLOC, REALLOC = form.OP_MALLOC, form.OP_CALLOC, form.OP_REALLOC
ALIGNED, FREE, TOUCH = form.OP_ALIGNED_ALLOC, form.OP_FREE, form.OP_TOUCH


def random_events(
    seed: int,
    count: int,
    misuse: bool = True,
    sites: int = 9,
    lifo: bool = True,
    touches: float = 0.1,
) -> dict[str, np.ndarray]:
    """Columns of `count` events that keep every rule; slots are reused as `lifo` tells.

    About a part `touches` of the events are touches of live objects.
    """
    choose = random.Random(seed)
    rows: list[tuple[int, ...]] = []
    live: list[int] = []
    free: list[int] = []
    size_of: dict[int, int] = {}
    slots = now = 0
    target = choose.choice([3, 40, 700])
    for _ in range(count):
        now += choose.choice([0, 1, 1, 30, 255, 256, 1000, 70_000, choose.choice([0, 2**33])])
        thread, site = choose.choice([0, 0, 0, 1, 5, 1_000_000]), choose.randrange(sites + 1)
        kind = choose.random()
        size = choose.choice(SIZES) if choose.random() < 0.2 else choose.randrange(300)
        if misuse and kind < 0.01:
            flag = choose.choice([form.FLAG_UNKNOWN, form.FLAG_INHERITED, form.FLAG_DOUBLE_FREE])
            op = choose.choice([FREE, FREE, REALLOC])
            size = 0 if op == FREE else size
            rows.append((now, size, form.SLOT_NONE, thread, site, op, flag, 0))
        elif live and choose.random() < touches and size_of[touched := choose.choice(live)]:
            granules = -(-size_of[touched] // form.GRANULE_BYTES)
            first = choose.choice([0, granules - 1, choose.randrange(granules)])
            count_max = min(granules - first, form.TOUCH_GRANULES_MAX)
            used = choose.choice([1, count_max, choose.randint(1, count_max)])
            rows.append((now, first * form.GRANULE_BYTES, touched, thread, site, TOUCH, 0, used))
        elif live and kind < 0.06:
            slot = choose.choice(live)
            size_of[slot] = size
            rows.append((now, size, slot, thread, site, REALLOC, 0, 0))
        elif live and kind < 0.06 + 0.94 * len(live) / (2 * target):
            slot = live.pop(choose.randrange(len(live)))
            free.append(slot)
            rows.append((now, 0, slot, thread, site, FREE, 0, 0))
        else:
            at = -1 if lifo else choose.randrange(max(1, len(free)))
            slot = free.pop(at) if free else slots
            slots += slot == slots
            live.append(slot)
            size_of[slot] = size
            op = choose.choice([MALLOC, MALLOC, CALLOC, ALIGNED])
            align = choose.choice([0, 3, 4, 12, 63]) if op == ALIGNED else 0
            rows.append((now, size, slot, thread, site, op, 0, align))
    columns = list(zip(*rows, strict=True)) or [()] * len(Columns._fields)
    return {
        name: np.array(column, EVENT[name])
        for name, column in zip(Columns._fields, columns, strict=True)
    }


def write(path: Path, events: dict[str, np.ndarray], sites: int = 9, **header: Any) -> None:
    """Write events, in pieces of odd sizes, as a trace with `sites` call sites."""
    with TraceWriter(path, header) as writer:
        for number in range(sites):
            writer.site(f"/lib/module{number % 3}.so", number * 16)
        count, at, piece = len(events["op"]), 0, 1
        while at < count:
            writer.append(**{name: column[at : at + piece] for name, column in events.items()})
            at += piece
            piece = piece * 3 + 1


def read(path: Path) -> dict[str, np.ndarray]:
    """All events of a trace, as columns."""
    with open_trace(path) as reader:
        blocks = [{name: c.copy() for name, c in b._asdict().items()} for b in reader.columns()]
    return {
        name: np.concatenate([block[name] for block in blocks] or [np.empty(0, EVENT[name])])
        for name in Columns._fields
    }


def rows(events: dict[str, np.ndarray]) -> Iterator[tuple[int, ...]]:
    """The events one by one, in the order of Columns."""
    yield from zip(*(events[name].tolist() for name in Columns._fields), strict=True)


def is_prefix(part: dict[str, np.ndarray], whole: dict[str, np.ndarray]) -> bool:
    """Tell whether `part` is how `whole` begins."""
    return all(
        len(part[name]) <= len(whole[name])
        and bool((part[name] == whole[name][: len(part[name])]).all())
        for name in Columns._fields
    )


def totals_of(events: dict[str, np.ndarray]) -> dict[str, Any]:
    """The totals and the size table that trace.h states, one event after another."""
    live: dict[int, int] = {}
    ops, flags = Counter[int](), Counter[int]()
    first: dict[int, int] = {}
    alive, peaks, asked = Counter[int](), Counter[int](), Counter[int]()
    bytes_live = peak_bytes = peak_objects = slots = touched = 0
    for index, (_, size, slot, _, _, op, flag, align) in enumerate(rows(events)):
        ops[op] += 1
        if flag:
            flags[flag] += 1
            first.setdefault(flag, index)
            continue
        if op == TOUCH:
            touched += align
            continue
        if op in (FREE, REALLOC):
            bytes_live -= live[slot]
            alive[live.pop(slot)] -= 1
        if op != FREE:
            live[slot] = size
            bytes_live += size
            asked[size] += 1
            alive[size] += 1
            peaks[size] = max(peaks[size], alive[size])
            slots = max(slots, slot + 1)
        peak_bytes = max(peak_bytes, bytes_live)
        peak_objects = max(peak_objects, len(live))
    return {
        "events": sum(ops.values()),
        "events_of_op": tuple(ops[op] for op in range(6)),
        "touched_granules": touched,
        "peak_live_bytes": min(peak_bytes, 2**64 - 1),
        "peak_live_objects": peak_objects,
        "slots_count_max": slots,
        "unknown_count": flags[form.FLAG_UNKNOWN],
        "unknown_first_event": first.get(form.FLAG_UNKNOWN, 0),
        "inherited_count": flags[form.FLAG_INHERITED],
        "double_free_count": flags[form.FLAG_DOUBLE_FREE],
        "double_free_first_event": first.get(form.FLAG_DOUBLE_FREE, 0),
        "end_live_objects": len(live),
        "end_live_bytes": min(bytes_live, 2**64 - 1),
        "threads": len(set(events["thread"].tolist())),
        "duration_ns": int(events["time_ns"][-1]) if len(events["op"]) else 0,
        "sizes": sorted((size, asked[size], peaks[size]) for size in asked),
    }

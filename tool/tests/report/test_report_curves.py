"""The report's curves agree with a naive walk over the same events, whatever the block size.

Method: random events (seed printed), one dictionary of live objects as the model.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from tautochrone.report.curves import curves_of

EVENT = np.dtype(
    [("time_ns", "u8"), ("size_bytes", "u8"), ("slot", "u4"), ("op", "u1"), ("flags", "u1")]
)
MALLOC, REALLOC, FREE = 0, 2, 4
UNKNOWN, DOUBLE_FREE = 1, 4
CLASSES = (24, 104)


def random_events(seed: int, count: int) -> np.ndarray:
    """Make `count` events with mallocs, reallocs, frees and a few events of misuse."""
    random = np.random.default_rng(seed)
    events = np.zeros(count, EVENT)
    live: list[int] = []
    freed: list[int] = []
    slots = 0
    for index, event in enumerate(events):
        event["time_ns"] = index * 7 + int(random.integers(7))
        kind = random.random()
        if kind < 0.02:
            event["slot"], event["op"], event["flags"] = 0xFFFFFFFF, FREE, UNKNOWN
        elif kind < 0.04 and freed:
            event["slot"], event["op"], event["flags"] = freed[-1], FREE, DOUBLE_FREE
        elif kind < 0.45 and live:
            slot = live.pop(int(random.integers(len(live))))
            freed.append(slot)
            event["slot"], event["op"] = slot, FREE
        elif kind < 0.55 and live:
            event["slot"], event["op"] = live[int(random.integers(len(live)))], REALLOC
            event["size_bytes"] = random.integers(1, 120)
        else:
            slot = freed.pop() if freed else slots
            slots = max(slots, slot + 1)
            live.append(slot)
            event["slot"], event["op"] = slot, MALLOC
            event["size_bytes"] = random.choice([0, 20, 24, 100, 104, 5000])
    return events


def columns(events: np.ndarray) -> SimpleNamespace:
    """Return events as a trace's reader does."""
    return SimpleNamespace(**{name: events[name] for name in EVENT.names})


def naive(events: np.ndarray) -> tuple[list[int], dict[int, list[int]]]:
    """Return live bytes, and live objects of each class, after every event."""
    held: dict[int, int] = {}
    totals: list[int] = []
    classes: dict[int, list[int]] = {size: [] for size in CLASSES}
    for event in events:
        if event["slot"] != 0xFFFFFFFF and not event["flags"]:
            held.pop(int(event["slot"]), None)
            if event["op"] != FREE:
                held[int(event["slot"])] = int(event["size_bytes"])
        totals.append(sum(held.values()))
        for size in CLASSES:
            classes[size].append(sum((value + 7) // 8 * 8 == size for value in held.values()))
    return totals, classes


@pytest.mark.parametrize("is_time", [True, False])
@pytest.mark.parametrize("block_events", [1, 37, 4096])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_curves_agree_with_a_naive_walk(seed: int, block_events: int, is_time: bool) -> None:
    print(f"seed {seed}")
    events = random_events(seed, 2000)
    totals, classes = naive(events)
    duration = int(events["time_ns"][-1]) if is_time else 0
    bins = 50
    curves = curves_of(
        (columns(events[first : first + block_events]) for first in range(0, 2000, block_events)),
        events=2000,
        duration_ns=duration,
        slots_count_max=int(events["slot"][events["slot"] != 0xFFFFFFFF].max()) + 1,
        class_sizes=CLASSES,
        bins=bins,
    )
    counted = (events["slot"] != 0xFFFFFFFF) & (events["flags"] == 0)
    at = events["time_ns"].astype(int) if is_time else np.arange(2000)
    which = at * bins // ((duration if is_time else 1999) + 1)
    assert curves.peak_bytes == max(totals)
    assert curves.end_bytes == totals[-1]
    pairs = [(curves.live_bytes, totals), *((curves.classes[s], classes[s]) for s in CLASSES)]
    for band, values in pairs:
        for one in range(bins):
            inside = np.array(values)[counted & (which == one)]
            assert band.high[one] == inside.max()
            assert band.low[one] == inside.min()


@pytest.mark.parametrize("unit_ns", [1, 10**17])
def test_a_bin_without_events_keeps_the_value_before_it(unit_ns: int) -> None:
    events = np.zeros(3, EVENT)
    events["time_ns"], events["size_bytes"] = [0, unit_ns, 100 * unit_ns], [8, 16, 8]
    events["slot"] = [0, 1, 2]
    duration = 100 * unit_ns
    curves = curves_of([columns(events)], events=3, duration_ns=duration, slots_count_max=3)
    assert curves.live_bytes.high.tolist() == [24, 24, 32]
    assert curves_of([], events=0, duration_ns=0, slots_count_max=0).live_bytes.high.tolist() == [0]


def test_with_bands_an_object_counts_in_the_next_larger_size() -> None:
    """Peaks of a band's sizes add up; freed objects and sizes above all bands do not count."""
    events = np.zeros(5, EVENT)
    events["slot"], events["size_bytes"] = [0, 1, 2, 3, 1], [8, 20, 24, 100, 0]
    events["op"][4] = FREE
    curves = curves_of(
        [columns(events)],
        events=5,
        duration_ns=0,
        slots_count_max=4,
        class_sizes=(16, 40),
        is_banded=True,
    )
    assert {size: band.high.tolist() for size, band in curves.classes.items()} == {
        16: [1, 1, 1, 1, 1],
        40: [0, 1, 2, 2, 1],
    }

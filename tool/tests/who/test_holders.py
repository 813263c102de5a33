"""The counts of `tau who` by call site, against one event after another in plain Python.

Method: random traces with resizes, touches and misuse, over several blocks.
"""

import random
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from tautochrone.errors import TauError
from tautochrone.facts import trace_format as form
from tautochrone.trace.file import OPS, open_trace
from tautochrone.who.calls import calls_at
from tautochrone.who.holders import Holders, holders_of
from tool.tests.trace import trace_model

Sums = dict[str, Counter[int]]
ENDS = (form.OP_FREE, form.OP_REALLOC)
EVENTS = 70_000  # more than a block


def counted(path: Path) -> Holders:
    with open_trace(path) as reader:
        return holders_of(reader)


def modeled(rows: list[tuple[int, ...]]) -> tuple[Sums, int | None, dict[int, int]]:
    """The same counts by site, the event of the peak, and the first misuse of each site."""
    sums: Sums = defaultdict(Counter)
    alive: dict[int, tuple[int, int, int]] = {}  # Site, size, time.
    peak_event, peak, live, first = None, 0, 0, {}
    for number, (time, size, slot, _, site, op, flag, _) in enumerate(rows):
        if flag:
            name = {form.FLAG_DOUBLE_FREE: "double_frees", form.FLAG_UNKNOWN: "unknown_frees"}
            if flag in name:
                sums[name[flag]][site] += 1
                first.setdefault(site, number)
        elif op != form.OP_TOUCH:
            if op in ENDS:
                whose, old, since = alive.pop(slot)
                live -= old
                sums["ended"][whose] += 1
                sums["lived"][whose] += time - since
                sums["longest"][whose] = max(sums["longest"][whose], time - since)
            if op != form.OP_FREE:
                alive[slot] = (site, size, time)
                live += size
                sums["made"][site] += 1
                sums["made_bytes"][site] += size
            if live > peak:
                peak, peak_event, at_peak = live, number, list(alive.values())
    for kind, objects in (("left", alive.values()), ("peak", at_peak if peak else ())):
        for site, size, _ in objects:
            sums[f"{kind}_bytes"][site] += size
            sums[f"{kind}_objects"][site] += 1
    return sums, peak_event, first


@pytest.mark.parametrize("events", [0, 1, 300, EVENTS])
def test_counts_equal_a_plain_count(tmp_path: Path, events: int) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    made = trace_model.random_events(seed, events)
    # Sums of sizes near the largest integer are not exact, and touches of such objects lie far out.
    is_far = (made["op"] == form.OP_TOUCH) & (made["size_bytes"] > 1 << 32)
    made = {name: column[~is_far] for name, column in made.items()}
    made["size_bytes"][made["size_bytes"] > 1 << 40] = 1 << 33
    trace_model.write(tmp_path / "a.tau", made)
    sums, peak_event, first = modeled(list(trace_model.rows(made)))
    found = counted(tmp_path / "a.tau")
    for name in found.counts.dtype.names:
        wanted = [sums[name][site] for site in range(len(found.counts))]
        assert found.counts[name].tolist() == wanted, name
    assert (found.peak_event, found.first_misuse) == (peak_event, first)
    with open_trace(tmp_path / "a.tau") as reader:
        assert found.counts["peak_bytes"].sum() == reader.totals.peak_live_bytes
        assert found.counts["left_bytes"].sum() == reader.totals.end_live_bytes


def test_the_peak_is_the_first_of_equal_ones(tmp_path: Path) -> None:
    """Also of equal peaks in other blocks."""
    ops = [form.OP_MALLOC, *[form.OP_FREE, form.OP_MALLOC] * (EVENTS // 2)]
    made = trace_model.random_events(1, len(ops), misuse=False, touches=0.0)
    for name in ("size_bytes", "slot", "align_log2"):
        made[name][:] = 0
    made["op"][:] = ops
    made["size_bytes"][::2] = 24
    trace_model.write(tmp_path / "a.tau", made)
    assert counted(tmp_path / "a.tau").peak_event == 0


def test_calls_of_any_block_are_told(tmp_path: Path) -> None:
    """What was asked for at an event, and from where; by replays of what they refused."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    made = trace_model.random_events(seed, EVENTS, touches=0.0)
    trace_model.write(tmp_path / "a.tau", made)
    rows = list(trace_model.rows(made))
    with open_trace(tmp_path / "a.tau") as reader:
        starts = [reader.first_event(block) for block in range(reader.totals.blocks)]
        assert len(starts) > 1
        wanted = {0, *starts, EVENTS - 1, *random.Random(seed).sample(range(EVENTS), 20)}
        calls = calls_at(reader, [None, *wanted])
        modules = reader.sites()
    assert calls.keys() == wanted
    for number, call in calls.items():
        _, size, _, _, site, op, _, _ = rows[number]
        assert (call.event, call.op, call.size_bytes) == (number, OPS[op], size)
        place = call.place and (call.place.module, call.place.offset)
        assert place == (modules[site - 1] if site else None)
        assert call.told().startswith("free from" if site and op == form.OP_FREE else OPS[op])


def test_a_peak_beyond_what_is_counted_is_refused(tmp_path: Path) -> None:
    made = trace_model.random_events(1, 40, misuse=False, touches=0.0)
    made["size_bytes"][made["op"] != form.OP_FREE] = 0
    made["size_bytes"][np.flatnonzero(made["op"] == form.OP_MALLOC)[0]] = 1 << 62
    trace_model.write(tmp_path / "a.tau", made)
    with pytest.raises(TauError, match="its peak is above"):
        counted(tmp_path / "a.tau")

"""From its threshold on, every heap of ours holds a trace, with every object in the same place.

Method: random traces around the sizes at which tables change. Every size up to a quarter more is
replayed by the calls of the core, each object checked; the threshold is from placements only.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tautochrone.facts import fault_format as faults
from tautochrone.heap.guarantee import make_guarantee
from tautochrone.replay.open_trace import OpenTrace
from tautochrone.replay.session import Session
from tautochrone.replay.systems.native import BUDGET, POOLS, TLSF, Arena
from tautochrone.replay.threshold import ABOVE, Heaps, Tables, threshold
from testing.random_trace import ALIGNED_ALLOC, FREE, MALLOC, REALLOC, Event
from testing.random_trace import random_events, write_events

CLASSES = [(56, 3), (104, 9), (904, 2), (24, 5)]
BORDERS_BYTES = [32 << 10, 512 << 10, 4 << 20]  # of second-level bits
RUNS_MAX = 6  # of a trace without alignments: four kinds of tables, and two that fail


def events_of(seed: int, align_log2: int, live_max: int) -> list[Event]:
    """Random events, of which some ask for an alignment up to `align_log2`; 0: none does."""
    source = random.Random(seed)
    return [
        (op, slot, size, source.randrange(align_log2 + 1) if align else 0)
        if align_log2
        else (MALLOC if align else op, slot, size, 0)
        for op, slot, size, align in random_events(seed, events=260, live_max=live_max)
    ]


def session_of(
    trace: OpenTrace, system: str, layout: str, alignment: int | None, check_level: int
) -> Session:
    """Plain, or with pools that are too few."""
    arenas: dict[str, tuple[Arena, Any]] = {
        "tlsf": (TLSF, None),
        "budget": (BUDGET, SimpleNamespace(classes=CLASSES, layout=layout)),
    }
    return Session(trace, *arenas[system], layout, check_level, alignment)


@pytest.mark.parametrize("align_log2", [0, 4, 6])
@pytest.mark.parametrize(
    ("layout", "alignment", "check_level"), [("32", 8, 1), ("32", 4, 2), ("host", 16, 0)]
)
@pytest.mark.parametrize("system", ["tlsf", "budget"])
def test_every_size_from_the_threshold_on_holds_with_equal_places(
    tmp_path: Path, system: str, layout: str, alignment: int, check_level: int, align_log2: int
) -> None:
    """[REPLAY-16] And one step less does not, or places objects elsewhere."""
    for seed, live_max in ((1, 5), (2, 40), (3, 52), (4, 60)):
        events = events_of(seed, align_log2, live_max)
        trace = OpenTrace(write_events(tmp_path / f"{seed}.tau", events))
        with session_of(trace, system, layout, alignment, check_level) as session:
            found = session.safe_heap()
            places: dict[tuple[int, int], int] = {}
            for size in range(found, int(found * ABOVE) + 1, alignment):
                run, tables = session.run(size), session.tables(size)
                assert run.fault == faults.COMPLETED, (seed, size - found)
                kind = (tables.level, tables.first_bytes)
                assert places.setdefault(kind, run.placement_hash) == run.placement_hash
            below, tables = session.run(found - alignment), session.tables(found - alignment)
            kind = (tables.level, tables.first_bytes)
            assert below.fault or below.placement_hash != places.get(kind)
            assert align_log2 or session.needed(2 * found) is not None


def test_few_runs_find_the_threshold(tmp_path: Path) -> None:
    for seed in range(8):
        trace = OpenTrace(write_events(tmp_path / f"{seed}.tau", events_of(seed, 0, 20 * seed + 2)))
        with Session(trace, TLSF) as session:
            session.safe_heap()
            assert session.runs <= RUNS_MAX


@pytest.mark.parametrize("layout", ["32", "host"])
def test_tables_are_those_that_init_makes(tmp_path: Path, layout: str) -> None:
    """[REPLAY-16] Around each of their borders: the control block of the core's own heap."""
    trace = OpenTrace(write_events(tmp_path / "t.tau", [(MALLOC, 0, 8, 0), (MALLOC, 1, 8, 6)]))
    with Session(trace, TLSF, None, layout) as session:
        size, borders, levels = 0, [], set()
        while size < 6 << 20:  # bound: the classes
            tables = session.tables(size)
            assert tables.least_bytes <= size <= tables.most_bytes
            for each in (size, tables.most_bytes):
                assert session.tables(each) == tables
                run = session.run(max(each, 1))
                assert (run.fault == faults.INIT_FAILED) == (tables.level == 0)
                if run.fault == faults.COMPLETED:
                    header = int(run.at_peak.control_bytes)
                    assert header < tables.first_bytes <= header + session.alignment
            levels.add(tables.level)
            size = tables.most_bytes + 1
            borders += [size] if session.tables(size).level != tables.level else []
        assert levels == {0, 2, 3, 4, 5}
        assert borders[1:] == BORDERS_BYTES


def test_a_resize_that_the_end_of_the_heap_decides_is_no_threshold(tmp_path: Path) -> None:
    """[REPLAY-16] The last object moves into a hole; in a larger heap it would grow in place."""
    events = [
        (MALLOC, 0, 900, 0),
        (MALLOC, 1, 40, 0),
        (MALLOC, 2, 400, 0),
        (FREE, 0, 0, 0),
        (REALLOC, 2, 800, 0),
    ]
    trace = OpenTrace(write_events(tmp_path / "t.tau", events))
    with Session(trace, TLSF) as session:
        found = session.safe_heap()
        runs = {size: session.run(size, checked=False) for size in range(1000, 2 * found, 8)}
        holds = [size for size, run in runs.items() if run.fault == faults.COMPLETED]
        blocks = {
            run.needed_bytes - session.tables(size).first_bytes
            for size, run in runs.items()
            if run.needed_bytes
        }
    assert [size for size in holds if runs[size].needed_bytes] == [*range(found, 2 * found, 8)]
    assert len(blocks) == 1
    assert holds[0] < found  # in the hole


def test_a_bucket_instead_of_the_end_of_the_heap_is_no_threshold(tmp_path: Path) -> None:
    """[REPLAY-16] The bucket is taken only if the shared region cannot grow the object."""
    events = [(MALLOC, 0, 40, 0), (MALLOC, 1, 3000, 0), (REALLOC, 0, 104, 0), (FREE, 1, 0, 0)]
    trace = OpenTrace(write_events(tmp_path / "t.tau", events))
    with Session(trace, BUDGET, SimpleNamespace(classes=[(104, 1)])) as session:
        found = session.safe_heap()
        below = session.run(found - 8, checked=False)
    assert (below.fault, below.needed_bytes) == (faults.COMPLETED, 0)


def test_a_plan_of_bands_needs_no_heap_behind_them(tmp_path: Path) -> None:
    trace = OpenTrace(write_events(tmp_path / "t.tau", events_of(6, 0, 20)))
    plan = make_guarantee([trace.path], 0.0, "32").plan
    with Session(trace, POOLS, plan) as session:
        assert session.safe_heap() <= plan.heap_bytes


# ---- the search by itself ----

UNIT, LIMIT = 8, 1 << 20
STRETCHES = (
    (0, 0, 0, 255),
    (2, 100, 256, 32_767),
    (3, 200, 32_768, 524_287),
    (4, 400, 524_288, 1 << 30),
)


def tables_at(size: int) -> Tables:
    """Three kinds of tables, and none."""
    return next(Tables(*each) for each in STRETCHES if each[2] <= size <= each[3])


@pytest.mark.parametrize(
    ("blocks", "found"),
    [
        ({2: 1000, 3: 1000, 4: 1000}, 1104),  # all larger tables hold everywhere
        ({2: 1000, 3: 32_568, 4: 1000}, 1104),  # just from the border on
        ({2: 1000, 3: 32_576, 4: 1000}, 32_776),  # larger tables need more than their least heap
        ({2: 1000, 3: 600_000, 4: 1000}, 524_288),  # no heap with the tables in the middle holds
        ({2: 1000, 3: 1000, 4: 600_000}, 600_400),
        ({2: 40_000, 3: 1000, 4: 1000}, 32_768),
        ({2: 1000, 3: 1000, 4: 2 << 20}, 0),
    ],
)
@pytest.mark.parametrize("guess", [8, 1200, 40_000, LIMIT])
def test_a_threshold_lies_behind_every_size_that_fails(
    blocks: dict[int, int], found: int, guess: int
) -> None:
    @cache
    def run(size: int) -> int | None:
        tables = tables_at(size)
        needs = tables.first_bytes + blocks.get(tables.level, LIMIT)
        return needs if needs <= size else None

    heaps = Heaps(run, tables_at, UNIT, LIMIT)
    assert threshold(heaps, guess) == found
    fails = [size for size in range(0, LIMIT, UNIT) if run(size) is None]
    assert found == 0 or max(fails) == found - UNIT


def test_a_heap_may_need_room_for_the_rule_of_alignments(tmp_path: Path) -> None:
    """The blocks alone would fit in 8,208 bytes."""
    trace = OpenTrace(write_events(tmp_path / "t.tau", [(ALIGNED_ALLOC, 0, 8, 13)]))
    with Session(trace, TLSF) as session:
        assert session.safe_heap() == 8216
        assert session.run(8208).fault != faults.COMPLETED


Kinds = list[tuple[int, int, int, int]]  # least and most bytes of tables; their bytes, and blocks'
FEW: Kinds = [(0, 1199, 0, 1000), (1200, 1240, 8, 2000), (1241, LIMIT, 16, 1000)]
MANY: Kinds = [(0, 3999, 0, 2000), (4000, 4400, 8, 4800), (4401, 4600, 16, 3000)]
MANY += [(4601, 5400, 24, 5500), (5401, LIMIT, 32, 3000)]


@pytest.mark.parametrize(
    ("kinds", "guess", "least", "found"),
    [
        (FEW, 1000, 0, 1248),
        (FEW, 3600, 900, 1248),
        (FEW, 1000, 4000, 4000),
        (MANY, 3600, 0, 5408),
        (MANY, 1000, 4200, 5408),
    ],
)
def test_with_alignments_every_heap_up_to_a_quarter_more_holds(
    kinds: Kinds, guess: int, least: int, found: int
) -> None:
    """Also above a least heap that others need."""

    @cache
    def tables(size: int) -> Tables:
        low, high, first, _ = next(each for each in kinds if each[0] <= size <= each[1])
        return Tables(3, first, low, high)

    def run(size: int) -> int | None:
        needs = next(first + blocks for low, high, first, blocks in kinds if low <= size <= high)
        return needs if needs <= size else None

    heaps = Heaps(run, tables, UNIT, LIMIT, asked_bytes=64)
    assert threshold(heaps, guess, least) == found
    assert None not in [run(size) for size in range(found, found * 5 // 4, UNIT)]

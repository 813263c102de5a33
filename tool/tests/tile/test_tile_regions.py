"""Replays on the RTMMU with a TLB of regions: nothing but cycles differs from the RTMMU alone.

The core reports unmapped regions to the unit (TAU_PORT_FORGET_REGION); a core that does not fails.
"""

from pathlib import Path

import numpy as np
import pytest

from tautochrone.replay.paging import PAGE_BYTES, page_replay
from tautochrone.replay.tile import TileReplay, region_cycles, tile_replay
from tautochrone.tile import systems as tile_systems
from tautochrone.tile.cycle_bounds import tile_bound
from tautochrone.tile.systems import tile_system
from testing.paging_reference import TOUCH, events_with_touches
from testing.random_trace import FREE, MALLOC, Event, write_events
from tool.tests.tile.test_tile import HEAP_BYTES, agrees

WITH_TLB, ALONE, CONVENTIONAL = "tile:rtmmu-tlb", "tile:rtmmu", "tile:pagetable"
HIT_CYCLES, TABLE_CYCLES = 2, 3  # from request to answer: 1 more than the unit takes
UNMAP_CYCLES_MORE_MAX = 6  # where code lies costs a cycle here and there, more and less
NO_HOOK = "-DTAU_PORT_FORGET_REGION(space,start)=((void)(space),(void)(start))"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of every operation, with touches."""
    path = tmp_path_factory.mktemp("regions") / "t.tau"
    return write_events(path, events_with_touches(74, events=400))


@pytest.fixture(scope="module")
def found(trace: Path) -> TileReplay:
    """Its replay with the TLB."""
    return tile_replay(trace, WITH_TLB, heap_bytes=HEAP_BYTES)


def hit_rate(replayed: TileReplay) -> float:
    """How many of the loads and stores in the window the TLB translated."""
    hits, misses = replayed.counters["hits_data"], replayed.counters["misses_data"]
    return hits / (hits + misses)


def test_nothing_but_cycles_differs(trace: Path, found: TileReplay) -> None:
    """Places, pages and faults are the software's and the RTMMU's; no access is later."""
    agrees(found, page_replay(trace, "rtvm", heap_bytes=HEAP_BYTES))
    alone = tile_replay(trace, ALONE, heap_bytes=HEAP_BYTES)
    for name in ("event", "low", "high"):
        ours, theirs = getattr(found.mapped_pages, name), getattr(alone.mapped_pages, name)
        assert ours.tolist() == theirs.tolist(), name
    assert found.faults == alone.faults == found.counters["faults_data_unmapped"]
    for kind, accesses in found.accesses.items():
        assert set(accesses.cycles.tolist()) == {HIT_CYCLES, TABLE_CYCLES}, kind
        assert set(alone.accesses[kind].cycles.tolist()) == {TABLE_CYCLES}, kind
        assert accesses.count == alone.accesses[kind].count, kind
    for kind, each in {**found.calls, **found.accesses}.items():
        bound = tile_bound(tile_system(WITH_TLB), kind)
        assert bound is not None and each.max_cycles <= bound <= 2 * each.max_cycles, kind
    assert hit_rate(found) > 0.95
    assert found.cycles < alone.cycles


def test_an_access_that_hits_is_no_later_than_the_page_tables(
    trace: Path, found: TileReplay
) -> None:
    """Most take a cycle less; none takes more."""
    theirs = tile_replay(trace, CONVENTIONAL, heap_bytes=HEAP_BYTES)
    for kind, accesses in found.accesses.items():
        assert accesses.max_cycles <= int(theirs.accesses[kind].cycles.min()), kind


def test_asserts_hold_with_the_tlb(trace: Path) -> None:
    """The core's invariants, live, in which a stale translation would show."""
    found = tile_replay(trace, WITH_TLB, heap_bytes=HEAP_BYTES, assert_level=2)
    agrees(found, page_replay(trace, "rtvm", heap_bytes=HEAP_BYTES))


def test_unmap_costs_one_write_more_at_any_size() -> None:
    """The same few cycles for a page and for five hundred."""
    sizes = (1, 2, 7, 64, 500)
    rows = np.array([(1 + 3 * place, size, size, 0) for size in sizes for place in (0, 40)])
    found, alone = (region_cycles(name, rows, 512)["unmap"] for name in (WITH_TLB, ALONE))
    assert np.abs(found - alone).max() <= UNMAP_CYCLES_MORE_MAX, (found - alone).tolist()
    assert found.max() <= tile_bound(tile_system(WITH_TLB), "unmap")


def reuse() -> list[Event]:
    """An object is freed and its place taken again at once, its second page still in the TLB."""
    events: list[Event] = [(MALLOC, 0, 64, 0)]
    for _ in range(4):
        events += [(MALLOC, 1, 5 * PAGE_BYTES, 0), (TOUCH, 1, 2 * PAGE_BYTES, 1), (FREE, 1, 0, 0)]
    return events


def test_a_core_without_the_hook_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its stale translations are used: pages that nobody mapped are touched without a fault."""
    trace = write_events(tmp_path / "r.tau", reuse())
    expected = page_replay(trace, "rtvm", heap_bytes=HEAP_BYTES)
    agrees(tile_replay(trace, WITH_TLB, heap_bytes=HEAP_BYTES), expected)
    assert expected.faults == 4
    proper = tile_systems.flags_of
    monkeypatch.setattr(tile_systems, "flags_of", lambda *given: [*proper(*given), NO_HOOK])
    stale = tile_replay(trace, WITH_TLB, heap_bytes=HEAP_BYTES)
    assert stale.faults == 1
    with pytest.raises(AssertionError):
        agrees(stale, expected)

"""Replays on the simulated tile: the same pages and places as the software's, cycle for cycle."""

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from click.testing import CliRunner

from tautochrone.commands import doctor, replay, report
from tautochrone.errors import EXIT_DONE, EXIT_LIMIT_EXCEEDED, EXIT_USAGE, TauError
from tautochrone.facts import replay_format as form
from tautochrone.facts import trace_format
from tautochrone.replay.open_trace import open_trace_for_replay
from tautochrone.replay.paging import PAGE_BYTES, PageReplay, page_replay
from tautochrone.replay.tile import (
    HEAP_ADDRESS, WORD_MAX, TileReplay, commands_of, operations_of, region_cycles, simulate,
    sizes_before, tile_replay
)
from tautochrone.tile import simulation
from tautochrone.tile.systems import tile_system
from testing.paging_reference import TOUCH, events_with_touches
from testing.random_trace import CALLOC, FREE, MALLOC, REALLOC, Event, write_events

PAIRS = (
    ("tile:rtmmu", "rtvm"),
    ("tile:pagetable", "conventional"),
    ("tile:pagetable-purging", "conventional-purging"),
)
# Where the third, whose own test is test_purging.py, takes the second's way through the tile.
QUICK_PAIRS = (*PAIRS[:2], pytest.param(*PAIRS[2], marks=pytest.mark.slow))
HEAP_PAGES = 2048
HEAP_BYTES = HEAP_PAGES * PAGE_BYTES
FEW_PAGES = 64  # soon cleared


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of every operation, with touches."""
    path = tmp_path_factory.mktemp("tile") / "t.tau"
    return write_events(path, events_with_touches(73, events=280))


def agrees(tile: TileReplay, software: PageReplay) -> None:
    """Compare what both know; the tile maps by real faults, the other by asking the tables."""
    for name in (
        *("completed", "failed_at_event", "cause", "peak_mapped_pages", "end_mapped_pages"),
        *("faults", "touches", "events", "placement_hash", "footprint_bytes"),
    ):
        assert getattr(tile, name) == getattr(software, name), name
    assert tile.mean_mapped_pages == pytest.approx(software.mean_mapped_pages)
    for kind, calls in software.calls.items():
        assert tile.calls[kind].event.tolist() == calls.event.tolist(), kind
        assert tile.calls[kind].size_bytes.tolist() == calls.size_bytes.tolist(), kind
    for part in ("event", "high"):
        found = getattr(tile.mapped_pages, part).tolist()
        assert found == getattr(software.mapped_pages, part).tolist(), part
    assert max(tile.mapped_pages.high) == tile.peak_mapped_pages


@pytest.mark.parametrize("name, software", QUICK_PAIRS)
def test_agrees_with_the_software_and_repeats(trace: Path, name: str, software: str) -> None:
    """With the core's asserts live the same happens; two runs of the first are equal in cycles."""
    first = tile_replay(trace, name, heap_bytes=HEAP_BYTES)
    agrees(first, page_replay(trace, software, heap_bytes=HEAP_BYTES))
    agrees(
        tile_replay(trace, name, heap_bytes=HEAP_BYTES, assert_level=2),
        page_replay(trace, software, heap_bytes=HEAP_BYTES),
    )
    if (name, software) == PAIRS[0]:
        second = tile_replay(trace, name, heap_bytes=HEAP_BYTES)
        assert (first.cycles, first.counters) == (second.cycles, second.counters)
        for kind, calls in first.calls.items():
            assert calls.cycles.tolist() == second.calls[kind].cycles.tolist()
    for calls in first.calls.values():
        assert not calls.count or calls.cycles.min() > 20
    assert first.faults == first.counters["faults_data_unmapped"] > 30
    for kind, accesses in first.accesses.items():
        assert accesses.count > 1000 and set(accesses.cycles.tolist()) == {3}, kind


@pytest.mark.parametrize("name, software", QUICK_PAIRS)
def test_borders_of_pages(tmp_path: Path, name: str, software: str) -> None:
    """Granules that reach into another page, and moves that copy mapped pages only."""
    events: list[Event] = []
    for slot in range(0, 8, 2):
        events += [(MALLOC, slot, 8 + 8 * (slot // 2 % 3), 0), (MALLOC, slot + 1, 20000, 0)]
        events += [(TOUCH, slot + 1, trace_format.GRANULE_BYTES * place, 1) for place in range(500)]
    for slot in (1, 3, 5):
        events += [(REALLOC, slot, 40000, 0), (TOUCH, slot, 0, 255), (FREE, slot - 1, 0, 0)]
    trace = write_events(tmp_path / "b.tau", events)
    found = tile_replay(trace, name, heap_bytes=HEAP_BYTES)
    agrees(found, page_replay(trace, software, heap_bytes=HEAP_BYTES))


@pytest.mark.parametrize("name, software", QUICK_PAIRS)
def test_too_few_frames(trace: Path, name: str, software: str) -> None:
    """Both stop in the same event for the same reason."""
    settings = {"frames": 25, "heap_bytes": HEAP_BYTES}
    found = tile_replay(trace, name, **settings)
    expected = page_replay(trace, software, **settings)
    assert not found.completed
    assert (found.failed_at_event, found.cause) == (expected.failed_at_event, expected.cause)


def rows_of(folder: Path, events: Sequence[Event]) -> tuple[list[list[int]], list[int]]:
    """The commands of a trace with these events, and the events that have one."""
    trace = open_trace_for_replay(write_events(folder / "c.tau", events))
    operations = operations_of(trace)
    rows, kept = commands_of(operations, sizes_before(operations), False)
    return rows.tolist(), kept.tolist()


def test_commands(tmp_path: Path) -> None:
    """Touches end with their object; a size belongs to the slot's object at the time."""
    rows, kept = rows_of(
        tmp_path,
        [
            (MALLOC, 0, 100, 0),
            (TOUCH, 0, 96, 1),
            (REALLOC, 0, 40, 0),
            (TOUCH, 0, 0, 3),
            (TOUCH, 0, 32, 1),
            (FREE, 0, 0, 0),
            (CALLOC, 0, 8, 6),
        ],
    )
    assert kept == list(range(7))
    assert rows[0] == [MALLOC, 0, 100, 0]
    assert rows[1] == [TOUCH | 1 << 8 | form.FLAG_STORES, 0, 96, 99]
    assert rows[2] == [REALLOC, 0, 40, 100]
    assert rows[3] == [TOUCH | 3 << 8 | form.FLAG_STORES, 0, 0, 39]
    assert rows[4] == [TOUCH | 1 << 8, 0, 32, 39]
    assert rows[5][:3] == [FREE, 0, 0]
    assert rows[6] == [CALLOC | 6 << 8, 0, 8, 40]


def test_command_line(trace: Path) -> None:
    """The JSON has what the specification says."""
    words = [str(trace), "--on", "tile:rtmmu,tile:pagetable", "--heap", str(HEAP_BYTES)]
    done = CliRunner().invoke(replay.command, [*words, "--json"], standalone_mode=False)
    assert done.exception is None and done.return_value == EXIT_DONE
    systems = json.loads(done.stdout)["systems"]
    assert [system["name"] for system in systems] == ["tile:rtmmu", "tile:pagetable"]
    for system in systems:
        assert system["cycles"] > 1_000_000 and system["peak_mapped_pages"] > 10
        for kind in ("malloc", "free", "fault", "load", "store"):
            operation = system["operations"][kind]
            assert operation["count"] > 0
            assert 0 < operation["p999_cycles"] <= operation["max_cycles"]
            bound = operation["bound_cycles"]
            assert (bound is None) == (operation["grows"] == "linear")
            assert bound is None or operation["max_cycles"] <= bound
        for kind in ("malloc", "free", "fault"):
            points = system["operations"][kind]["by_size"]  # Every call is in one of them.
            assert sum(points["calls"]) == system["operations"][kind]["count"]
            assert max(points["cycles"]) == system["operations"][kind]["max_cycles"]
            pairs = list(zip(points["size_bytes"], points["cycles"], strict=True))
            assert len(set(pairs)) == len(pairs) == len(points["calls"])
    assert [system["operations"]["free"]["grows"] for system in systems] == [None, "linear"]
    for_people = CliRunner().invoke(replay.command, words, standalone_mode=False)
    for shown in ("The slowest free takes", "peak of mapped pages in each", "cycles per call"):
        assert shown in for_people.stdout


def test_region_costs_the_same_at_any_size() -> None:
    """A small case of bench/tile, which measures the whole range."""
    sizes = (1, 2, 7, 64, 500)
    rows = np.array([(1 + 3 * place, size, size, 0) for size in sizes for place in (0, 40)])
    cycles = region_cycles("tile:rtmmu", rows, 512)
    assert len(cycles["unmap"]) == len(rows)
    assert max(cycles["unmap"]) <= 1.5 * min(cycles["unmap"])
    walked = region_cycles("tile:pagetable", rows, 512)["unmap"]
    assert walked[-1] > 50 * walked[0]


# ---- bad input ----


def refused(*arguments: object, **settings: object) -> TauError:
    """The error of a replay that does not start or does not end well."""
    with pytest.raises(TauError) as caught:
        tile_replay(*arguments, **settings)  # type: ignore[arg-type]
    return caught.value


def test_trace_too_big(tmp_path: Path) -> None:
    """It says how many pages it needs, before anything is built or run."""
    trace = write_events(tmp_path / "big.tau", [(MALLOC, slot, 1 << 28, 0) for slot in range(5)])
    error = refused(trace, "tile:rtmmu")
    assert "needs at least 327681 pages" in error.message and "262143" in error.message
    assert error.exit_code == EXIT_LIMIT_EXCEEDED


def test_cycle_limit(trace: Path) -> None:
    """A limit ends a simulation and names the event."""
    error = refused(trace, "tile:pagetable", heap_bytes=HEAP_BYTES, cycles_max=1_900_000)
    assert "limit of 1900000 cycles in event" in error.message
    assert error.exit_code == EXIT_LIMIT_EXCEEDED


def test_an_error_about_the_beginning_names_the_trace(trace: Path) -> None:
    words = [str(trace), "--on", "tile:rtmmu", "--events", "300", "--heap", "10000"]
    done = CliRunner().invoke(replay.command, words, standalone_mode=False)
    assert isinstance(done.exception, TauError)
    assert done.exception.message.startswith(f"{trace}, first 300 events, needs at least")


def test_unknown_configuration(trace: Path) -> None:
    error = refused(trace, "tile:rtmmu:huge")
    assert error.message == "tile:rtmmu has no configuration 'huge'"
    assert "fast-b" in (error.next_step or "") and "pipelined" in (error.next_step or "")


def test_a_killed_simulator_says_so(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = CompletedProcess([], -signal.SIGKILL, "", "")
    monkeypatch.setattr(simulation, "watched", lambda *_: killed)
    assert "was ended by signal 9 (SIGKILL)" in refused(trace, "tile:rtmmu").message


def test_unknown_system(trace: Path) -> None:
    for name in ("rtvm", "tile:none", "tile:rtmmu:huge"):
        assert refused(trace, name).exit_code == EXIT_USAGE


def test_failed_check_stops_the_simulation() -> None:
    """A command for a slot that is not there, one that is none, more pages than a region has."""
    start = (form.OP_START, 4, FEW_PAGES, FEW_PAGES)
    for bad, message in (
        ((MALLOC, 4, 8, 0), "a command for a slot that is not there"),
        ((99, 0, 0, 0), "a command that is none"),
        ((form.OP_REGION, 5, 3, 4), "a region cannot be mapped or unmapped"),
    ):
        with pytest.raises(TauError) as caught:
            simulate(tile_system("tile:rtmmu"), np.array([start, bad], np.uint32))
        assert f"tile: failed: {message}" in caught.value.message
    with pytest.raises(TauError, match="access to memory that nobody has"):
        rows = [start, (MALLOC, 0, 8, 0), (TOUCH | 1 << 8, 0, 1 << 16, 1 << 16)]
        simulate(tile_system("tile:rtmmu"), np.array(rows, np.uint32))


def test_failed_assert_stops_the_simulation() -> None:
    """Zeros over the heap's control block: the core's invariants notice it at the next call."""
    system, start = tile_system("tile:pagetable"), (form.OP_START, 4, FEW_PAGES, FEW_PAGES)
    rows = [start, (MALLOC, 0, 8, 0)]
    records = simulate(system, np.array(rows, np.uint32)).columns()
    control_bytes = int(records[records["channel"] == 0]["value"][0]) - HEAP_ADDRESS
    assert 256 < control_bytes < PAGE_BYTES
    granules = min(control_bytes // trace_format.GRANULE_BYTES, 255)
    first = WORD_MAX + 1 - control_bytes
    rows += [(TOUCH | granules << 8 | form.FLAG_STORES, 0, first, WORD_MAX - 7), (MALLOC, 1, 8, 0)]
    with pytest.raises(TauError, match="tile: failed: assertion: .*invariants_hold"):
        simulate(system, np.array(rows, np.uint32), assert_level=2)


def test_doctor_says_whether_simulators_are_built() -> None:
    findings = [one for one in doctor.systems() if one.name.startswith("tile:")]
    assert {"tile:rtmmu", "tile:pagetable"} <= {finding.name for finding in findings}
    for finding in findings:
        assert finding.works or finding.next_step == "tau doctor --build"


def test_report_shows_the_tile_next_to_the_software(trace: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    words = [str(trace), "--on", "rtvm,tile:rtmmu,tile:pagetable", "-o", str(page)]
    done = CliRunner().invoke(report.command, words, standalone_mode=False)
    assert done.exception is None, done.exception
    text = page.read_text()
    assert "Cost of free on the tile, by size" in text and "Cost of free, by size" in text
    assert "The tile next to the software model" in text and "Cycles per operation" in text
    assert text.count("tile:pagetable") > 1

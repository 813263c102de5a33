"""Replay on pages: the golden models map the same pages, and a wrong heap is found."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tautochrone import native
from tautochrone.machine.images import CODE_ADDRESS, Image, build_image
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.replay import paging
from tautochrone.replay.open_trace import OpenTrace
from tautochrone.replay.paging import HEAP_PAGES_MAX, SYSTEMS, PageReplay, page_replay
from tautochrone.replay.run import replay as plain_replay
from tautochrone.targets.sources import CORE_FILES
from tautochrone.trace.file import TraceWriter
from testing.paging_reference import PAGE, TOUCH, Reference, events_with_touches
from testing.random_trace import (
    CALLOC,
    FREE,
    MALLOC,
    REALLOC,
    random_trace,
    write_events,
)

IMAGES = Path(__file__).parent / "image"
HEAP_PAGES = 700


def small(path: Path, system: str, **settings: object) -> PageReplay:
    """Replay in a heap that the models can follow."""
    return page_replay(path, system, heap_bytes=HEAP_PAGES * PAGE, **settings)


# ---- mapped pages ----


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("seed", range(2))
def test_all_is_as_the_golden_models_say(tmp_path: Path, system: str, seed: int) -> None:
    events = events_with_touches(400 + seed, events=900)
    trace = write_events(tmp_path / "t.tau", events)
    found = small(trace, system)
    expected = Reference(system, HEAP_PAGES).run(events)
    assert found.completed
    assert found.placement_hash == expected.placement_hash
    assert found.peak_mapped_pages == expected.peak_mapped_pages
    assert found.end_mapped_pages == expected.end_mapped_pages
    assert found.faults == expected.faults == found.calls["fault"].count
    assert found.mean_mapped_pages == pytest.approx(expected.mean_mapped_pages, abs=1e-9)
    assert {kind: found.calls[kind].count for kind in expected.calls} == expected.calls
    # With one bin per event, the last value of a bin counts the pages mapped after the event.
    curve = dict(zip(found.mapped_pages.event.tolist(), found.mapped_pages.high, strict=True))
    for event, mapped in enumerate(expected.after):
        if event in curve and events[event][0] == TOUCH:
            assert curve[event] == mapped


def test_two_systems_of_the_same_kind_place_alike(tmp_path: Path) -> None:
    trace = write_events(tmp_path / "t.tau", events_with_touches(31, events=4000))
    done = [page_replay(trace, system) for system in SYSTEMS]
    assert len({one.placement_hash for one in done}) == 1
    assert done[0].peak_mapped_pages <= done[1].peak_mapped_pages
    assert done[1].peak_mapped_pages == done[2].peak_mapped_pages
    assert done[1].faults == done[2].faults < done[0].faults
    # Every touch of a granule is one of the events, and none of another kind is.
    assert done[0].touches == sum(op == TOUCH for op, *_ in events_with_touches(31, events=4000))


@pytest.mark.parametrize("system", SYSTEMS)
def test_two_runs_and_both_targets_agree(tmp_path: Path, system: str) -> None:
    trace = write_events(tmp_path / "t.tau", events_with_touches(32, events=3000))
    first, second = page_replay(trace, system), page_replay(trace, system)
    for kind, calls in first.calls.items():
        for name in ("event", "size_bytes", "instructions", "accesses"):
            assert np.array_equal(getattr(calls, name), getattr(second.calls[kind], name))
    assert first.mean_mapped_pages == second.mean_mapped_pages
    with_zbb = page_replay(trace, system, "rv32zbb")
    assert with_zbb.placement_hash == first.placement_hash
    assert with_zbb.faults == first.faults
    assert with_zbb.peak_mapped_pages == first.peak_mapped_pages
    assert with_zbb.calls["malloc"].max_instructions < first.calls["malloc"].max_instructions


@pytest.mark.parametrize("end_time", [0, 10**6])
def test_a_trace_that_is_streamed_gives_the_same(tmp_path: Path, end_time: int) -> None:
    trace = write_events(tmp_path / "t.tau", events_with_touches(33, events=3000))
    image = paging.paging_image("rtvm")
    kind = native.struct("tau_paging_settings")
    settings = kind(HEAP_PAGES_MAX, HEAP_PAGES_MAX, 16, end_time, 0, 1 << 30)
    kept = paging._run(OpenTrace(trace), image, "rtvm", settings)
    streamed = paging._run(OpenTrace(trace, ops_in_memory_max=100), image, "rtvm", settings)
    assert streamed.placement_hash == kept.placement_hash
    assert streamed.mean_mapped_pages == kept.mean_mapped_pages


def test_the_curve_keeps_every_maximum(tmp_path: Path) -> None:
    events = events_with_touches(34, events=9000)
    found = page_replay(write_events(tmp_path / "t.tau", events), "rtvm")
    curve = found.mapped_pages
    assert len(curve.event) <= 2048 < found.events
    assert curve.high.max() == found.peak_mapped_pages
    assert (curve.low <= curve.high).all() and (np.diff(curve.event) > 0).all()


def test_memory_given_back_in_the_middle_is_mapped_no_more(tmp_path: Path) -> None:
    """Ten objects of 64 KiB, touched as a whole; all but the last are freed [P0-10, P0-43]."""
    events = [(MALLOC, slot, 65536, 0) for slot in range(10)]
    events += [(TOUCH, slot, 4080 * k, 255) for slot in range(10) for k in range(16)]
    events += [(FREE, slot, 0, 0) for slot in range(9)]
    trace = write_events(tmp_path / "t.tau", events)
    ours, theirs = page_replay(trace, "rtvm"), page_replay(trace, "conventional")
    assert ours.peak_mapped_pages == theirs.peak_mapped_pages >= 160
    assert ours.end_mapped_pages <= 16 + 5
    assert theirs.end_mapped_pages == theirs.peak_mapped_pages


@pytest.mark.parametrize("system", SYSTEMS)
def test_calloc_touches_all_of_it_and_malloc_nothing(tmp_path: Path, system: str) -> None:
    size = 100 * PAGE
    cleared = write_events(tmp_path / "c.tau", [(CALLOC, 0, size, 0)])
    plain = write_events(tmp_path / "m.tau", [(MALLOC, 0, size, 0)])
    assert page_replay(cleared, system).faults in (99, 100)
    assert page_replay(plain, system).faults == 0
    assert page_replay(plain, system, touch_all=True).faults in (99, 100)


def test_a_realloc_that_moves_copies_what_is_mapped(tmp_path: Path) -> None:
    """One page of an object of 40 is touched, and its ends share pages with headers."""
    events = [(MALLOC, 0, 40 * PAGE, 0), (MALLOC, 1, 64, 0), (TOUCH, 0, 20 * PAGE, 1)]
    before = page_replay(write_events(tmp_path / "a.tau", events), "rtvm")
    events += [(REALLOC, 0, 80 * PAGE, 0)]
    after = page_replay(write_events(tmp_path / "b.tau", events), "rtvm")
    assert before.faults == 1
    assert after.calls["resize"].count == 1 and after.calls["free"].count == 1
    assert 1 + 1 <= after.faults <= 1 + 3 * 2


def test_the_mean_is_over_accesses_where_they_are_the_clock(tmp_path: Path) -> None:
    """Nothing is mapped for the object until 30 accesses of 100 were made; it goes after 80."""
    events = [(MALLOC, 0, 3 * PAGE, 0), (TOUCH, 0, 2 * PAGE, 1), (FREE, 0, 0, 0)]
    columns = np.array(events, dtype=np.uint64)
    path, accesses = tmp_path / "t.tau", {"heap_loads": 60, "heap_stores": 40}
    with TraceWriter(path, {"clock": "accesses", "accesses": accesses}) as writer:
        writer.append(
            op=columns[:, 0],
            slot=columns[:, 1],
            size_bytes=columns[:, 2],
            align_log2=columns[:, 3],
            time_ns=np.array([0, 30, 80]),
        )
    found = page_replay(path, "rtvm")
    before = page_replay(write_events(tmp_path / "e.tau", []), "rtvm").peak_mapped_pages
    opened = page_replay(write_events(tmp_path / "m.tau", events[:1]), "rtvm").end_mapped_pages
    expected = 30 * opened + 50 * (opened + 1) + 20 * before
    assert found.mean_mapped_pages == pytest.approx(expected / 100)


# ---- costs ----


@pytest.mark.parametrize("isa", paging.ISAS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_no_call_exceeds_its_bound(tmp_path: Path, system: str, isa: str) -> None:
    trace = write_events(tmp_path / "t.tau", events_with_touches(35, events=6000, live_max=200))
    for kind, calls in page_replay(trace, system, isa).calls.items():
        assert calls.count > 100
        assert 0 < calls.p999_instructions <= calls.max_instructions
        assert 0 < calls.p999_accesses <= calls.max_accesses < calls.max_instructions
        if kind == "free" and system != "rtvm":
            assert calls.bound_instructions is None and calls.bound_accesses is None
            continue
        assert calls.max_instructions <= calls.bound_instructions
        assert calls.max_accesses <= calls.bound_accesses


def test_freeing_the_end_is_linear_in_the_conventional_heap_only(tmp_path: Path) -> None:
    cost = {}
    for pages in (100, 1000):
        events = [(CALLOC, 0, pages * PAGE, 0), (FREE, 0, 0, 0)]
        trace = write_events(tmp_path / f"{pages}.tau", events)
        for system in SYSTEMS:
            cost[system, pages] = page_replay(trace, system).calls["free"].max_instructions
    assert cost["rtvm", 100] == cost["rtvm", 1000]
    for system in SYSTEMS[1:]:
        assert 6 < cost[system, 1000] / cost[system, 100] < 10


def test_statistics_follow_from_the_calls() -> None:
    numbers = np.array([5, 1, 9, 3] * 500, dtype=np.uint32)
    numbers[7] = 1000
    calls = paging.PageCalls(numbers, numbers, numbers, numbers // 2)
    assert (calls.count, calls.max_instructions, calls.max_accesses) == (2000, 1000, 500)
    assert calls.p999_instructions == sorted(numbers)[-(-2000 * 999 // 1000) - 1] == 9
    nothing = np.empty(0, dtype=np.uint32)
    empty = paging.PageCalls(nothing, nothing, nothing, nothing)
    assert (empty.count, empty.max_instructions, empty.p999_accesses) == (0, 0, 0)


# ---- limits and bad input ----


@pytest.mark.parametrize("system", SYSTEMS)
def test_too_few_frames_stop_it_at_the_fault(tmp_path: Path, system: str) -> None:
    events = [(MALLOC, 0, 64 * PAGE, 0), *((TOUCH, 0, k * PAGE, 1) for k in range(64))]
    trace = write_events(tmp_path / "t.tau", events)
    found = page_replay(trace, system, frames=20)
    assert not found.completed
    assert "no frame left" in found.cause
    assert found.peak_mapped_pages == 20
    assert events[found.failed_at_event][0] == TOUCH
    faults = found.calls["fault"]
    assert faults.max_instructions <= faults.bound_instructions
    assert faults.instructions[-1] < faults.max_instructions  # it was refused
    enough = page_replay(trace, system).peak_mapped_pages
    assert page_replay(trace, system, frames=enough).completed


def test_a_heap_that_is_too_small_says_where(tmp_path: Path) -> None:
    trace = write_events(tmp_path / "t.tau", [(MALLOC, 0, 100, 0), (MALLOC, 1, 1 << 20, 0)])
    found = page_replay(trace, "rtvm", heap_bytes=1 << 19)
    assert (found.completed, found.failed_at_event) == (False, 1)
    assert "no room" in found.cause
    for pages, cause in ((1, "at least 2"), (0, "at least 2")):
        with pytest.raises(TauError, match=cause) as raised:
            page_replay(trace, "rtvm", heap_bytes=pages * PAGE + 1)
        assert raised.value.exit_code == EXIT_USAGE


def test_other_systems_and_targets_are_refused(tmp_path: Path) -> None:
    trace = random_trace(tmp_path / "t.tau", 1, events=100)
    for arguments, cause in ((("tlsf",), "not a system on pages"), (("rtvm", "m4"), "rv32zbb")):
        with pytest.raises(TauError, match=cause) as raised:
            page_replay(trace, *arguments)
        assert raised.value.exit_code == EXIT_USAGE


def test_misuse_is_refused_unless_asked(tmp_path: Path) -> None:
    events = [(MALLOC, 0, 100, 0), (FREE, 0, 0, 0), (FREE, 0, 0, 0)]
    trace = write_events(tmp_path / "t.tau", events, flags=[0, 0, 4])
    with pytest.raises(TauError, match="double free"):
        page_replay(trace, "rtvm")
    assert page_replay(trace, "rtvm", skip_misuse=True).skipped == 1


def test_an_empty_trace_maps_what_the_heap_needs(tmp_path: Path) -> None:
    found = page_replay(write_events(tmp_path / "t.tau", []), "rtvm")
    assert found.completed and found.peak_mapped_pages == found.end_mapped_pages > 0


def test_other_systems_pass_touches_over(tmp_path: Path) -> None:
    events = events_with_touches(36, events=3000)
    touched = write_events(tmp_path / "t.tau", events)
    plain = write_events(tmp_path / "p.tau", [event for event in events if event[0] != TOUCH])
    for system in ("tlsf", "kingsley", "static"):
        first, second = plain_replay(touched, system), plain_replay(plain, system)
        assert first.footprint_bytes == second.footprint_bytes
        assert first.operations == second.operations
        assert first.skipped == second.skipped == 0


# ---- heaps that err ----

PROGRAM = [
    (MALLOC, 0, 3000, 0),
    (MALLOC, 1, 9000, 0),
    (TOUCH, 0, 16, 2),
    (TOUCH, 1, 4800, 1),
    (REALLOC, 1, 8000, 0),
    (TOUCH, 1, 4816, 1),
    (FREE, 0, 0, 0),
    (FREE, 1, 0, 0),
]


@functools.cache
def broken_image() -> Image:
    """An image of broken_pages.c, whose variable `broken` is to be set."""
    files = [name for name in CORE_FILES["page_heap"] if name != "core/page_heap.c"]
    return build_image(
        "broken",
        "rv32",
        [*files, IMAGES / "broken_pages.c", f"{paging.FOLDER}/paged.c"],
        paging._flags("rtvm", 0),
        prefix="tau_page_heap",
        keep=(*paging._function_names("rtvm").values(), "tau_image_start", "tau_image_facts"),
    )


@pytest.mark.parametrize(
    ("broken", "cause"),
    [
        (1, "touched memory that is not mapped at 0x.* in event 0"),
        (2, "gave a page back .*, at event 7"),
        (3, "counts its mapped pages wrongly"),
        (4, "refused to map .*, at event 2"),
        (5, "misaligned object, at event 0"),
        (6, "memory that a live object has, at event 1"),
        (7, "more instructions than allowed .* in event 6"),
        (8, "gave a page back .*, at event 5"),
        (9, "called a proper free a misuse, at event 6"),
    ],
)
def test_a_wrong_heap_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: int, cause: str
) -> None:
    image = broken_image()
    code = bytearray(image.code)
    place = image.symbols["broken"] - CODE_ADDRESS
    assert code[place : place + 4] == b"ZZZZ"
    code[place : place + 4] = broken.to_bytes(4, "little")
    wrong = replace(image, code=bytes(code))
    monkeypatch.setattr(paging, "paging_image", lambda *_: wrong)
    monkeypatch.setattr(paging, "INSTRUCTIONS_MAX", 20_000_000)
    trace = write_events(tmp_path / "t.tau", PROGRAM)
    with pytest.raises(TauError, match=cause):
        small(trace, "rtvm")

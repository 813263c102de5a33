"""[pages]: the numbers are the golden models', they hold, and one less does not.

Method: random recordings of accesses, replayed by the tool and, naively, on model/page_heap.py.
"""

from __future__ import annotations

import functools
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from model.frames import Frames, Machine
from model.page_heap import PageHeap
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.plan import pages
from tautochrone.plan.file import Plan, load_plan
from tautochrone.plan.header import save_header
from tautochrone.plan.pages import Pages, refuse_fewer_frames
from tautochrone.plan.sections import Basis
from tautochrone.replay.entry import Entry
from tautochrone.replay.open_trace import open_trace_for_replay
from tautochrone.replay.paging import page_replay
from tautochrone.replay.run import entries_of
from tautochrone.replay.system import Options
from tautochrone.replay.systems import system_named
from tautochrone.replay import tile
from testing import command
from testing.paging_reference import FIRST, PAGE, Reference, control_bytes, events_with_touches
from testing.random_trace import FREE, MALLOC, Event, write_events
from tool.tests.plan import plan_traces

ROOT = Path(__file__).resolve().parents[3]
TOUCH = 5
UNKNOWN, SLOT_NONE = 1, 0xFFFFFFFF
SEEDS = range(500, 502)
MORE_SEEDS = range(502, 510)
SOME_SEEDS = [*SEEDS, *(pytest.param(seed, marks=pytest.mark.slow) for seed in MORE_SEEDS)]


said: list[tuple[str, str | None]] = []
basis_of = functools.partial(plan_traces.basis_of, said)


@pytest.fixture(autouse=True)
def nothing_said() -> None:
    """Forget the notes of the test before."""
    said.clear()


class Watched(Reference):
    """The reference with limits, which sees how many pages could be mapped at once."""

    def __init__(self, heap_pages: int, frames: int, commit_max_pages: int = 2**32 - 1) -> None:
        super().__init__("rtvm", heap_pages)
        pool = Frames(Machine(frames), is_reserved=True, ready=list(range(frames)))
        self.heap = PageHeap(
            *(pool, FIRST, heap_pages, control_bytes(heap_pages), 32, 0, commit_max_pages)
        )
        self.peak_committed_pages = 0

    def note(self) -> None:
        """Notes the peaks."""
        super().note()
        self.peak_committed_pages = max(self.peak_committed_pages, len(self.heap.committed))


def holds(events: list[Event], heap_pages: int, frames: int, commit_max_pages: int) -> bool:
    """Whether the models carry everything out within these limits."""
    try:
        Watched(heap_pages, frames, commit_max_pages).run(events)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("seed", SOME_SEEDS)
def test_the_numbers_are_those_of_the_models(tmp_path: Path, seed: int) -> None:
    events = events_with_touches(seed, events=300 if seed in SEEDS else 500, live_max=20)
    found = pages.make(basis_of(write_events(tmp_path / "t.tau", events)))
    naive = Watched(found.heap_pages, found.heap_pages)
    seen = naive.run(events)
    assert found.frames == seen.peak_mapped_pages
    assert found.commit_pages == naive.peak_committed_pages > found.frames
    assert holds(events, found.heap_pages, found.frames, found.commit_pages)
    assert not holds(events, found.heap_pages, found.frames - 1, found.commit_pages)
    assert not holds(events, found.heap_pages, found.frames, found.commit_pages - 1)


@pytest.mark.parametrize("seed", SOME_SEEDS)
def test_its_frames_hold_and_one_fewer_does_not(tmp_path: Path, seed: int) -> None:
    count = 1000 if seed in SEEDS else 4000
    trace = write_events(tmp_path / "t.tau", events_with_touches(seed, events=count))
    found = pages.make(basis_of(trace))
    heap_bytes = found.heap_pages * PAGE
    held = page_replay(trace, "rtvm", frames=found.frames, heap_bytes=heap_bytes)
    assert held.completed and held.peak_mapped_pages == found.frames == held.frames_count
    short = page_replay(trace, "rtvm", frames=found.frames - 1, heap_bytes=heap_bytes)
    assert not short.completed
    assert ("frame" in short.cause) or ("no room" in short.cause)


def test_several_recordings_share_the_largest_numbers(tmp_path: Path) -> None:
    traces = [
        write_events(tmp_path / f"{seed}.tau", events_with_touches(seed, events=700))
        for seed in SEEDS
    ]
    together = pages.make(basis_of(*traces))
    heap_bytes = together.heap_pages * PAGE
    done = [
        [
            page_replay(trace, "rtvm", heap_bytes=heap_bytes, touch_all=touch_all)
            for trace in traces
        ]
        for touch_all in (False, True)
    ]
    assert together.frames == max(one.peak_mapped_pages for one in done[0])
    assert together.commit_pages == max(one.peak_mapped_pages for one in done[1])
    for trace in traces:
        assert page_replay(
            trace, "rtvm", frames=together.frames, heap_bytes=heap_bytes
        ).completed


def test_a_heap_that_is_too_small_grows_until_it_holds(tmp_path: Path) -> None:
    events = [(MALLOC, slot, 4096, 0) for slot in range(200)] + [(TOUCH, 0, 0, 1)]
    trace = write_events(tmp_path / "t.tau", events)
    small = pages.make(basis_of(trace))
    assert 201 <= small.heap_pages <= 201 + 2 * (201 // pages.GROWTH)
    assert pages.make(basis_of(trace, heap_bytes=240 * PAGE)).heap_pages == 240
    assert pages.make(basis_of(trace, heap_bytes=240 * PAGE + 1)).heap_pages == 241


def test_a_number_that_fails_when_tried_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for more frames than it maps at the peak gets them."""
    trace = write_events(tmp_path / "t.tau", [(MALLOC, 0, 9000, 0), (TOUCH, 0, 0, 200)])
    usual = pages.make(basis_of(trace))
    plain = pages._replay

    def greedy(*words: object, frames: int | None = None, **settings: object) -> object:
        done = plain(*words, frames=frames, **settings)
        return replace(done, completed=frames is None or frames >= usual.frames + 3)

    monkeypatch.setattr(pages, "_replay", greedy)
    assert pages.make(basis_of(trace)).frames == usual.frames + 3


def test_only_recordings_of_accesses_have_pages(tmp_path: Path) -> None:
    without = write_events(tmp_path / "plain.tau", [(MALLOC, 0, 100, 0), (FREE, 0, 0, 0)])
    trace = write_events(tmp_path / "t.tau", [(MALLOC, 0, 100, 0), (TOUCH, 0, 0, 1)])
    assert pages.make(basis_of(without)) is None and said == []
    assert pages.make(basis_of(without, trace)) is None
    assert said == [("no [pages]: plain.tau has no accesses", "record all with --accesses")]
    assert pages.make(basis_of(trace, layout="host")) is None and "32-bit" in said[1][0]


def test_the_heap_grows_by_steps_up_to_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    """[PLAN-13] Each by 1/64 of the heap, and the last size that the schema allows is tried."""
    wanted = [200]
    while wanted[-1] < 300:
        wanted.append(wanted[-1] + max(wanted[-1] // 64, 1))
    tried: list[int] = []

    def peaks(_basis: Basis, heap_pages: int, touch_all: bool) -> list[int]:
        tried.append(heap_pages)
        return [heap_pages - touch_all] if heap_pages >= 300 else []

    monkeypatch.setattr(pages, "_peaks", peaks)
    monkeypatch.setitem(pages.HEAP_PAGES, "most", wanted[-1])
    basis = basis_of(heap_bytes=200 * PAGE)
    assert pages._heap(basis) == (wanted[-1], [wanted[-1]], [wanted[-1] - 1])
    assert tried == [*wanted, wanted[-1]], "the last one also with every byte touched"
    monkeypatch.setitem(pages.HEAP_PAGES, "most", wanted[-1] - 1)
    assert pages._heap(basis) is None


def test_misuse_is_left_out_where_the_plan_leaves_it_out(tmp_path: Path) -> None:
    events = [(MALLOC, 0, 100, 0), (FREE, SLOT_NONE, 0, 0), (TOUCH, 0, 0, 1)]
    trace = write_events(tmp_path / "t.tau", events, [0, UNKNOWN, 0])
    with pytest.raises(TauError, match="event 1"):
        pages.make(basis_of(trace))
    assert pages.make(replace(basis_of(trace), skip_misuse=True)).frames > 0


def test_a_heap_beyond_the_largest_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = write_events(tmp_path / "t.tau", [(MALLOC, 0, 9 * PAGE, 0), (TOUCH, 0, 0, 1)])
    monkeypatch.setitem(pages.HEAP_PAGES, "most", 8)
    assert pages.make(basis_of(trace)) is None
    assert said == [("no [pages]: 8 pages do not hold the recordings", None)]


def test_fewer_frames_are_refused_by_number() -> None:
    planned = Pages(heap_pages=40, frames=9, commit_pages=12, table_bytes=1292)
    refuse_fewer_frames(planned, 9)
    with pytest.raises(TauError, match="reserves 9 frames; 8 is 1 fewer") as refused:
        refuse_fewer_frames(planned, 8)
    assert refused.value.exit_code == EXIT_USAGE and "at least 9" in refused.value.next_step


HEADER_USER = """
#include "core/page_heap.h"
#include "plan.h"
#define PAGE 4096u
static _Alignas(PAGE) unsigned char memory[(1u + TAU_PLAN_HEAP_PAGES) * PAGE];
static uint32_t links[TAU_PLAN_FRAMES];
static uint32_t tables[TAU_PLAN_TABLE_BYTES / 4u];
int main(void) {
    static struct tau_frames machine, frames;
    static struct tau_vspace space;
    static struct tau_page_heap heap;
    const uint32_t log2 = TAU_PLAN_SPACE_PAGES_LOG2;
    if (tau_frames_init(&machine, links, TAU_PLAN_FRAMES, NULL) != TAU_OK ||
        tau_frames_add(&machine, (struct tau_frame){0}, TAU_PLAN_FRAMES) != TAU_OK ||
        tau_frames_reserve(&machine, &frames, TAU_PLAN_FRAMES) != TAU_OK) {
        return 1;
    }
    if (tau_vspace_size_bytes(log2) != sizeof tables ||
        tau_vspace_init(&space, tables, sizeof tables, log2, &frames, TAU_VSPACE_OVERCOMMIT)) {
        return 2;
    }
    if (tau_page_heap_init(&heap, &space, (uintptr_t)memory, (struct tau_page){1},
                           TAU_PLAN_HEAP_PAGES, TAU_PLAN_COMMIT_PAGES) != TAU_OK) {
        return 3;
    }
    return tau_page_heap_malloc(&heap, OBJECT_BYTES) != NULL ? 0 : 4;
}
"""


@pytest.fixture(scope="module")
def core_object(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The core, compiled once."""
    made = tmp_path_factory.mktemp("core") / "tau.o"
    words = ["cc", "-std=c17", f"-I{ROOT}", "-c", str(ROOT / "core" / "tau.c"), "-o", str(made)]
    subprocess.run(words, check=True, timeout=300)
    return made


@pytest.mark.parametrize("heap_pages", [15, 16, 127])
def test_the_header_starts_a_heap_on_pages(
    tmp_path: Path, core_object: Path, heap_pages: int
) -> None:
    """Sizes below, at and far from a power of two: page 0 of a space is one that no heap has."""
    planned = Pages(heap_pages, 6, 9, pages.table_bytes(heap_pages))
    plan = Plan((), 0, "greedy", 0.0, layout="host", sections={"pages": planned})
    save_header(plan, tmp_path / "plan.h", "tau plan")
    (tmp_path / "user.c").write_text(HEADER_USER)
    flags = ["-std=c17", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}", f"-I{tmp_path}"]
    for object_bytes, status in ((3 * PAGE, 0), (9 * PAGE, 4)):
        program = str(tmp_path / "user")
        words = [*flags, f"-DOBJECT_BYTES={object_bytes}u", str(tmp_path / "user.c"), core_object]
        subprocess.run(["cc", *words, "-o", program], check=True, timeout=300)
        assert subprocess.run([program], check=False, timeout=300).returncode == status


def test_header_and_summary_have_each_number() -> None:
    planned = Pages(heap_pages=1040, frames=9, commit_pages=12, table_bytes=1292)
    defined = dict(line.split()[1:] for line in pages.header(planned) if line.startswith("#"))
    names = ("HEAP_PAGES", "FRAMES", "COMMIT_PAGES", "TABLE_BYTES", "SPACE_PAGES_LOG2")
    numbers = ("1040u", "9u", "12u", "1292u", "11u")
    assert defined == {
        f"TAU_PLAN_{name}": number for name, number in zip(names, numbers, strict=True)
    }
    (told,) = pages.told(planned)
    assert told == (
        "on pages: 9 frames, the peak of mapped pages, in a heap of 1,040 pages; tables of 1,292"
        " bytes"
    )


def test_the_numbers_rise_and_may_be_equal() -> None:
    """[PLAN-14] A program that touches all that it allocates has frames for each page."""
    assert pages.rule_broken(Pages(5, 5, 5, 1)) == ""
    assert "pages.frames is 6, more than pages.commit_pages, 5" in pages.rule_broken(
        Pages(7, 6, 5, 1)
    )
    assert "pages.commit_pages is 6, more than pages.heap_pages, 5" in pages.rule_broken(
        Pages(5, 5, 6, 1)
    )


def test_the_table_bytes_are_checked_against_the_core() -> None:
    whole = Plan((), 4096, "greedy", 0.0)
    sound = Pages(40, 9, 12, pages.table_bytes(40))
    assert pages.problems(sound, whole) == []
    less = sound._replace(table_bytes=sound.table_bytes - 4)
    assert str(less.table_bytes) in pages.problems(less, whole)[0]
    more = sound._replace(table_bytes=sound.table_bytes + 4)
    (problem,) = pages.problems(more, whole)
    assert str(sound.table_bytes) in problem and str(sound.table_bytes + 4) in problem


def test_the_command_plans_pages_that_replay_holds(tmp_path: Path) -> None:
    """As a user does it, from one command to the next."""
    write_events(tmp_path / "t.tau", events_with_touches(7, events=600))

    tau = functools.partial(command.tau, cwd=tmp_path)
    done = tau("plan", "t.tau", "-o", "plan.toml", "--json")
    assert done.returncode == 0, done.stderr
    said_pages = json.loads(done.stdout)["pages"]
    assert Pages(**said_pages) == load_plan(tmp_path / "plan.toml").sections["pages"]
    assert f"{said_pages['frames']} frames" in tau("plan", "t.tau").stdout
    heap = ("--heap", said_pages["heap_pages"] * PAGE)
    replay = ("replay", "t.tau", "--on", "rtvm", *heap, "--frames")
    assert tau(*replay, said_pages["frames"]).returncode == 0
    assert tau(*replay, said_pages["frames"] - 1).returncode == 3
    assert tau("check", "plan.toml").returncode == 0


def test_a_replay_takes_the_plans_frames_and_refuses_fewer(tmp_path: Path) -> None:
    """Both heaps get the planned pages, so they are compared in equal room; ours gets its frames.
    """
    trace, plan = tmp_path / "t.tau", tmp_path / "plan.toml"
    write_events(trace, events_with_touches(500, events=300, live_max=20))

    tau = command.tau
    assert tau("plan", trace, "-o", plan).returncode == 0
    planned = load_plan(plan).sections["pages"]
    replay = ("replay", trace, "--on", "rtvm,conventional", "--plan", plan)
    ours, theirs = json.loads(tau(*replay, "--json").stdout)["systems"]
    assert ours["completed"] and ours["frames"] == ours["peak_mapped_pages"] == planned.frames
    assert ours["heap_pages"] == theirs["heap_pages"] == planned.heap_pages
    assert theirs["frames"] == planned.heap_pages
    assert ours["table_bytes"] == planned.table_bytes > theirs["table_bytes"]
    without = json.loads(tau(*replay[:4], "--json").stdout)["systems"]
    assert without[0]["table_bytes"] > 2**20 * 4
    note = "tables for a space of 2^20 pages; `tau plan` says what your program needs"
    assert note in tau(*replay[:4]).stdout and note not in tau(*replay).stdout
    refused = tau(*replay, "--frames", str(planned.frames - 1))
    assert refused.returncode == EXIT_USAGE and "is 1 fewer" in refused.stderr


def entry_on(system: str, trace: Path, **options: object) -> Entry:
    """The output of a replay on a system."""
    opened = open_trace_for_replay(trace)
    (entry,) = entries_of(opened, [system], Options(**options))
    return entry


def test_another_heap_does_not_take_the_planned_frames(tmp_path: Path) -> None:
    """They were tried in the planned heap only; more frames are taken in the planned heap."""
    trace = write_events(tmp_path / "t.tau", events_with_touches(501, events=500, live_max=20))
    planned = pages.make(basis_of(trace))
    more = entry_on("rtvm", trace, pages=planned, frames=planned.frames + 3)
    assert (more.pages.frames, more.pages.heap_pages) == (planned.frames + 3, planned.heap_pages)
    heap_pages = planned.heap_pages + 100
    other = entry_on("rtvm", trace, pages=planned, heap_bytes=heap_pages * PAGE)
    assert (other.pages.frames, other.pages.heap_pages) == (heap_pages, heap_pages)


def test_ours_on_the_tile_takes_what_was_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a simulation: its arguments. The page table's heap takes the planned pages."""
    trace = write_events(tmp_path / "t.tau", [(MALLOC, 0, 9000, 0), (TOUCH, 0, 0, 200)])
    planned = pages.make(basis_of(trace))
    asked: list[object] = []

    def replay(_trace: object, name: str, *settings: object) -> None:
        asked.append((name, *settings[:2]))
        raise TauError("no simulation")

    monkeypatch.setattr(tile, "tile_replay", replay)
    for name in ("tile:rtmmu", "tile:pagetable"):
        with pytest.raises(TauError, match="no simulation"):
            system_named(name).run(open_trace_for_replay(trace), Options(pages=planned))
    assert asked == [
        ("tile:rtmmu", planned.frames, planned.heap_pages * PAGE),
        ("tile:pagetable", None, planned.heap_pages * PAGE),
    ]

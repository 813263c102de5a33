"""The replay of touches on a placement: against the model and all policies; its refusals."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from model.code_cache import RETRY, CodeCache, Visits
from tautochrone.coldcode.fragment import PAGE_BYTES, Fragment, Page
from tautochrone.coldcode.link_map import Piece
from tautochrone.coldcode.linux.run import (
    COUNTED_UNTIL,
    RELEASE_BEHIND,
    RELEASED_BY,
    counted,
    marks_missing,
)
from tautochrone.coldcode.recording import CodeRecording, load
from tautochrone.coldcode.replay import (
    BELADY,
    FRAMES_LEAST,
    POLICIES,
    Cache,
    Counts,
    PageTouches,
    refuse_other_kernel,
    replay,
    touches_of,
    until,
)
from tautochrone.errors import TauError
from tool.tests.coldcode import code_forge as forge


def random_touches(seed: int, pages: int = 24, count: int = 400) -> PageTouches:
    """Pages near the last one, most of the time."""
    source = random.Random(seed)
    page, touched = 0, []
    for _ in range(count):
        page = source.randrange(pages) if source.random() < 0.2 else page + source.randint(-3, 3)
        page %= pages
        touched.append(page)
    times = np.cumsum([source.randint(1, 50) for _ in touched]).astype(np.uint64)
    return PageTouches(np.array(touched, np.uint16), times, pages)


def model_counts(touches: PageTouches, cache: Cache) -> Counts:
    """The model, with accessed bits that are passed on by visits [CPLAN-18]."""
    policy = cache.policy.replace("-", "_")
    least = FRAMES_LEAST + cache.interrupt_pages
    model = CodeCache(touches.pages_count, cache.frames, least, policy, cache.seed)
    visits = Visits(model)
    accessed: set[int] = set()
    for page in touches.pages.tolist():
        if page not in model.holds:
            visits.visit(accessed)
            status, answer = model.fault(page)
            assert status == "OK" and answer is not None and answer.action != RETRY
        accessed.add(model.holds.index(page))
    return Counts(model.faults, model.loads, model.evictions)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(40))
def test_a_replay_is_that_of_the_model(policy: str, seed: int) -> None:
    touches = random_touches(seed)
    for frames, interrupt_pages in ((4, 0), (5, 0), (11, 0), (11, 6), (17, 13)):
        cache = Cache(frames, policy, seed + 1, interrupt_pages)
        assert replay(touches, cache) == model_counts(touches, cache)


@pytest.mark.parametrize("seed", range(40))
def test_no_policy_loads_less_than_the_one_that_knows_the_future(seed: int) -> None:
    touches = random_touches(seed)
    for frames in (4, 9):
        least = replay(touches, Cache(frames, BELADY)).loads
        assert all(replay(touches, Cache(frames, policy)).loads >= least for policy in POLICIES)


@pytest.mark.parametrize("seed", range(40))
def test_the_policy_that_knows_the_future_is_the_best(seed: int) -> None:
    """Against every choice of who leaves."""
    touches = random_touches(seed, pages=5, count=16)
    states = {frozenset[int](): 0}
    for page in touches.pages.tolist():
        after: dict[frozenset[int], int] = {}
        for held, loads in states.items():
            full = [held - {out} for out in held] if len(held) == 3 else [held]
            choices = [held] if page in held else [rest | {page} for rest in full]
            for state in choices:
                count = loads + (page not in held)
                after[state] = min(count, after.get(state, count))
        states = after
    assert replay(touches, Cache(3, BELADY)).loads == min(states.values())


def test_no_touch_means_no_fault() -> None:
    nothing = PageTouches(np.array([], np.uint16), np.array([], np.uint64), 0)
    for policy in (*POLICIES, BELADY):
        assert replay(nothing, Cache(4, policy)) == Counts(0, 0, 0)


@pytest.mark.parametrize("frames", [4, 64])
def test_no_page_leaves_as_long_as_frames_are_empty(frames: int) -> None:
    for policy in (*POLICIES, BELADY):
        assert replay(random_touches(1, pages=frames), Cache(frames, policy)).evictions == 0


@pytest.mark.parametrize("frames", [0, 3, 65])
def test_a_number_of_frames_that_the_core_refuses_is_refused(frames: int) -> None:
    with pytest.raises(TauError, match="frames") as refused:
        replay(random_touches(1), Cache(frames))
    assert refused.value.next_step == "give 4 to 64 frames"


def test_pages_of_interrupts_need_frames_of_their_own() -> None:
    with pytest.raises(TauError, match="can need four, interrupts 3") as refused:
        replay(random_touches(1), Cache(6, interrupt_pages=3))
    assert refused.value.next_step == "give 7 to 64 frames"
    assert replay(random_touches(1), Cache(7, interrupt_pages=3)).loads > 0


# ---- A recording on a placement: three functions at 0x1000, 0x1020 and 0x2000


def piece(address: int, size_bytes: int, name: str) -> Piece:
    """A piece of the forged kernel."""
    return Piece(address, size_bytes, "a.o", f".text.{name}", ".text")


def recording_of(tmp_path: Path) -> CodeRecording:
    """Touches of 1, 0, 1 and 2 at the times 10, 14, 15 and 19."""
    return load(forge.write(tmp_path / "boot.taucode"))


def fragment_of(*pages: Page) -> Fragment:
    """A placement."""
    return Fragment(tuple(pages), "ab" * 32)


def test_touches_of_cold_functions_are_touches_of_their_pages(tmp_path: Path) -> None:
    recording = recording_of(tmp_path)
    fragment = fragment_of((piece(0x2000, 0x40, "last"),), (piece(0x1000, 0x20, "start"),))
    touches = touches_of(recording, fragment)
    assert touches.pages.tolist() == [1, 0] and touches.times.tolist() == [14, 19]
    one_piece = fragment_of((piece(0x1000, 0x30, "both"),))
    assert touches_of(recording, one_piece).pages.tolist() == [0, 0, 0]
    assert touches_of(recording, fragment_of()).pages.tolist() == []


def test_each_page_of_a_large_piece_is_touched(tmp_path: Path) -> None:
    large = piece(0x2000, 2 * PAGE_BYTES + 2, "last")
    fragment = fragment_of((large,), (), (), (piece(0x1000, 0x20, "start"),))
    touches = touches_of(recording_of(tmp_path), fragment)
    assert touches.pages.tolist() == [3, 0, 1, 2] and touches.times.tolist() == [14, 19, 19, 19]


def test_a_recording_ends_where_a_function_is_first_touched(tmp_path: Path) -> None:
    recording = recording_of(tmp_path)
    names = recording.functions.names
    ends = ((names[2], [1, 0, 1]), (names[0], [1]), (names[1], []), ("none", [1, 0, 1, 2]))
    for name, touches in ends:
        cut = until(recording, name)
        assert cut.touches.tolist() == touches and len(cut.times) == len(touches)


def test_another_kernel_needs_its_map(tmp_path: Path) -> None:
    """In a relinked kernel, pieces are found by file and section; missing code is not touched."""
    recording = recording_of(tmp_path)
    elsewhere = fragment_of((piece(0x8000, 0x20, "start"),), (piece(0x9000, 0x40, "gone"),))
    with pytest.raises(TauError, match="no function starts where"):
        touches_of(recording, elsewhere)
    linked = [piece(0x1000, 0x20, "start"), piece(0x1020, 0x10, "work")]
    assert touches_of(recording, elsewhere, linked).pages.tolist() == [0]
    with pytest.raises(TauError, match="no function starts where"):
        touches_of(recording, elsewhere, [replace(linked[0], address=0x1002)])


def test_a_recording_of_another_kernel_is_refused(tmp_path: Path) -> None:
    recording = recording_of(tmp_path)
    refuse_other_kernel(recording, "ab" * 32)
    with pytest.raises(TauError, match="recorded on another kernel") as refused:
        refuse_other_kernel(recording, "cd" * 32)
    assert "--map" in str(refused.value.next_step)


@pytest.mark.parametrize("has_release", [True, False])
def test_loads_are_counted_from_the_release_until_the_counters_are_read(
    tmp_path: Path, has_release: bool
) -> None:
    """Activation calls what shows the counters, and releases cold code when that has returned.
    Before it all code is in RAM: counting there gave up to a third more loads than the kernel."""
    recording = load(forge.write(tmp_path / "one.taucode"))
    names = ("init", RELEASED_BY, "opened", RELEASE_BEHIND, "work", COUNTED_UNTIL)
    order = [0, 1, 2, 1, 3, 2, 3, 1, 4, 0, 1, 4, 5, 4, 5] if has_release else [0, 4, 5, 4]
    functions = replace(recording.functions, names=names)
    times = np.arange(len(order), dtype=np.uint64)
    recording = replace(recording, functions=functions, touches=np.array(order), times=times)
    found = counted(recording)
    assert marks_missing(recording) == ([] if has_release else [RELEASE_BEHIND, RELEASED_BY])
    assert found.touches.tolist() == ([1, 4, 0, 1, 4] if has_release else [0, 4])
    assert found.times.tolist() == ([7, 8, 9, 10, 11] if has_release else [0, 1])

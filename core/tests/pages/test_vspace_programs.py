"""Builds and runs the C tests of frames, validity and address spaces, and repeats what they did in
the Python models.

The fuzzer compares the core with a naive account in C, a million calls a run; here a shorter run's
log is compared, call by call, with `model/`. So core, account and model must agree in all.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from core.tests.kit.core_build import Build, build_program, run_program
from model.frames import Frames, Machine
from model.vspace import Space
from tautochrone.facts import status_format

RUN_SECONDS_MAX = 300
SEED = os.environ.get("TAU_TEST_SEED", "1")
ASSERTS = "-DTAU_ASSERT_LEVEL=2"
SMALL_PAGES = "-DTAU_PAGE_LOG2=6"  # so that frames are cheap to look at
SANITIZED = Build(64, 1, 0, "-O1", "gcc", sanitize=True)
PROGRAMS = ["test_frames", "test_validity", "test_vspace"]
BUILDS = [SANITIZED, Build(32, 1, 0, "-O2", "clang-14")]


@pytest.mark.parametrize("build", BUILDS, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_examples(name: str, build: Build, tmp_path: Path) -> None:
    """The C program's own tests pass."""
    program = build_program(build, name, tmp_path, extra=(ASSERTS,))
    print(run_program(program, [], RUN_SECONDS_MAX))


def test_the_walks_see_what_is_broken(tmp_path: Path) -> None:
    """Without asserts, which would see it first."""
    print(run_program(build_program(SANITIZED, "test_vspace_checker", tmp_path), [], 60))


@pytest.mark.parametrize("pages_log2_max", [6, 26])
def test_examples_in_other_sizes(pages_log2_max: int, tmp_path: Path) -> None:
    """Spaces of at most two words of the tree, and of as many pages as a word can say."""
    extra = (ASSERTS, f"-DTAU_SPACE_PAGES_LOG2_MAX={pages_log2_max}")
    program = build_program(SANITIZED, "test_vspace", tmp_path, extra=extra)
    print(run_program(program, [], RUN_SECONDS_MAX))


def test_a_million_random_calls(tmp_path: Path) -> None:
    """The core against the naive account, both sanitizers on."""
    program = build_program(SANITIZED, "fuzz_vspace", tmp_path, extra=(ASSERTS, SMALL_PAGES))
    print(run_program(program, [SEED, "1000000"], RUN_SECONDS_MAX))


def test_every_state_of_four_pages(tmp_path: Path) -> None:
    """Every reachable state of arrays, cache and tree, from every memory; each call in each."""
    program = build_program(Build(64), "explore_vspace", tmp_path, extra=(SMALL_PAGES,))
    output = run_program(program, [], RUN_SECONDS_MAX)
    assert "complete" in output, output
    print(output)


class Replay:
    """Repeats a log of fuzz_vspace in the models. Each method is one kind of line."""

    def __init__(self) -> None:
        """No machine yet: a log starts with one."""
        self.pool = Frames(Machine(0))
        self.spaces: dict[int, Space] = {}
        self.seen: Counter[str] = Counter()

    def run(self, line: str) -> None:
        """One line of the log. Raises AssertionError where the model says something else."""
        kind, *words = line.split()
        getattr(self, f"line_{kind}")(*map(int, words))

    def expect(self, kind: str, status: str, expected: int) -> None:
        """The model's STATUS is what the log says."""
        assert status == status_format.NAMES[expected]
        self.seen[f"{kind} {status}"] += 1

    def line_M(self, frames_count: int) -> None:
        """A machine."""
        self.pool = Frames(Machine(frames_count))
        self.spaces.clear()

    def line_A(self, first: int, count: int, status: int) -> None:
        """Frames are handed in."""
        self.expect("add", self.pool.add(first, count), status)

    def line_C(self, was_dirty: int) -> None:
        """One frame is cleaned."""
        assert self.pool.clean_one() == bool(was_dirty)

    def line_S(self, index: int, pages_log2: int, kind: int, reserved_count: int) -> None:
        """A space is made."""
        pool: Frames | None = self.pool
        if kind >= 2:
            pool = self.pool.reserve(reserved_count)
        assert pool is not None
        self.spaces[index] = Space(pages_log2, pool, commits=kind == 2)

    def line_G(self, index: int) -> None:
        """A space's reserved frames are given back."""
        self.pool.take_back(self.spaces[index].pool)

    def line_R(self, index: int, start: int, pages: int, rights: int, status: int) -> None:
        """map_region."""
        self.expect("map_region", self.spaces[index].map_region(start, pages, rights), status)

    def line_P(self, index: int, page: int, access: int, status: int, frame: int) -> None:
        """map_page."""
        space = self.spaces[index]
        self.expect("map_page", space.map_page(page, access), status)
        if status_format.NAMES[status] == "OK":
            assert space.mapped[page] == frame
            assert space.read(page) in (None, f"{id(space)}")
            space.name = f"{id(space)}"
            space.write(page)

    def line_U(self, index: int, start: int, status: int) -> None:
        """unmap_region."""
        self.expect("unmap_region", self.spaces[index].unmap_region(start), status)

    def line_T(self, index: int, page: int, access: int, status: int, frame: int) -> None:
        """translate."""
        answer, found = self.spaces[index].translate(page, access)
        self.expect("translate", answer, status)
        if answer == "OK":
            assert found == frame


@pytest.mark.parametrize("word_bits", [32, 64])
def test_the_account_is_the_model(
    word_bits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty thousand calls of the fuzzer, repeated in Python; every status must have occurred."""
    build = Build(word_bits, 1, 0, "-O2", "gcc")
    program = build_program(build, "fuzz_vspace", tmp_path, extra=(SMALL_PAGES,))
    log = tmp_path / "log"
    monkeypatch.setenv("TAU_FUZZ_LOG", str(log))
    print(run_program(program, [SEED, "20000"], RUN_SECONDS_MAX))
    replay = Replay()
    for number, line in enumerate(log.read_text().splitlines(), 1):
        try:
            replay.run(line)
        except AssertionError as error:
            raise AssertionError(f"line {number}: {line}: {error}") from error
    print(dict(replay.seen))
    missing = EXPECTED_STATUSES - set(replay.seen)
    assert not missing


EXPECTED_STATUSES = {
    *(f"add {status}" for status in ("OK", "BAD_ARGUMENT", "FRAME_OUTSIDE", "FRAME_TWICE")),
    *(
        f"map_region {status}"
        for status in (
            "OK BAD_ARGUMENT PAGE_ZERO PAGE_OUTSIDE REGION_TOO_LARGE REGION_OVERLAPS NOT_ADMITTED"
        ).split()
    ),
    *(
        f"map_page {status}"
        for status in (
            "OK PAGE_ZERO PAGE_OUTSIDE NOT_IN_REGION ACCESS_DENIED PAGE_MAPPED NO_FRAME"
        ).split()
    ),
    *(f"unmap_region {status}" for status in "OK PAGE_ZERO PAGE_OUTSIDE NOT_A_REGION".split()),
    *(f"translate {status}" for status in "OK NOT_IN_REGION ACCESS_DENIED".split()),
}

"""Builds and runs the C tests of the heaps on pages, and repeats their calls in the models.

The fuzzer's log says where each object was placed, which faults came in which order, and after each
call which page has which frame, which regions exist and which pages are committed.
All of it must be the models' answer, with any number of frames left.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from core.tests.kit.core_build import Build, build_program, run_program
from core.tests.mutants.mutate import MUTANTS, Mutant
from model.frames import Frames, Machine
from model.page_heap import PAGE_BYTES, BreakHeap, PageHeap
from tautochrone.facts import status_format
from tautochrone.facts import trace_format as form
from tautochrone.replay.paging import page_replay
from testing.random_trace import write_events

RUN_SECONDS_MAX = 300
SEED = os.environ.get("TAU_TEST_SEED", "1")
ASSERTS = "-DTAU_ASSERT_LEVEL=2"
SANITIZED = [
    Build(32, 1, 0, "-O1", "gcc", sanitize=True),
    Build(64, 2, 0, "-O1", "gcc", sanitize=True),
]
PLAIN = Build(32, 1, 0, "-O2", "gcc")  # For what runs one instruction at a time.
EXAMPLES = {"test_break_heap": SANITIZED, "test_page_heap": [*SANITIZED, PLAIN]}
FUZZERS = {"fuzz_page_heap": 15000, "fuzz_forget": 20000}  # And the calls in `make check`.
FEW = "frame behind an aligned object alone asked for"
HOOK = "    TAU_PORT_FORGET_REGION(space, start);\n"
STORE = "    space->validity.regions[start].top = top;\n"
TOLD_EARLY = Mutant("told before the store", "vspace_inline.h", STORE + HOOK, HOOK + STORE)
HEAP_OPEN, HEAP_HEAD = 3, 2


@pytest.mark.parametrize(
    ("name", "build"),
    [(name, build) for name, builds in EXAMPLES.items() for build in builds],
    ids=str,
)
def test_examples(name: str, build: Build, tmp_path: Path) -> None:
    """The C program's own tests pass."""
    extra = (ASSERTS,) if build.sanitize else ()
    program = build_program(build, name, tmp_path, extra=extra)
    print(run_program(program, [], RUN_SECONDS_MAX))


@pytest.mark.parametrize("name", FUZZERS)
@pytest.mark.parametrize("build", SANITIZED, ids=str)
def test_random_programs(name: str, build: Build, tmp_path: Path) -> None:
    """Random calls of both heaps on closed pages, and of ours under an MMU that keeps regions."""
    program = build_program(build, name, tmp_path, extra=(ASSERTS,))
    print(run_program(program, [SEED, str(FUZZERS[name])], RUN_SECONDS_MAX))


@pytest.mark.slow
@pytest.mark.parametrize("word_bits", [32, 64])
@pytest.mark.parametrize("check_level", [0, 1, 2])
def test_random_programs_for_long(word_bits: int, check_level: int, tmp_path: Path) -> None:
    """Half a million calls each."""
    build = Build(word_bits, check_level, 0, "-O1", "gcc", sanitize=True)
    program = build_program(build, "fuzz_page_heap", tmp_path, extra=(ASSERTS,))
    print(run_program(program, [str(int(SEED) + 1000), "500000"], 3 * RUN_SECONDS_MAX))


def test_a_frame_too_few_is_noticed(tmp_path: Path) -> None:
    """The heap then writes a header to a page that is not mapped; other mutants are slow."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == FEW)
    program = build_program(SANITIZED[0], "test_page_heap", tmp_path, mutant.core(tmp_path))
    with pytest.raises(AssertionError, match="the allocator touches unmapped page"):
        run_program(program, [], RUN_SECONDS_MAX)


def test_an_mmu_that_is_told_too_early_is_noticed(tmp_path: Path) -> None:
    """It may read the region again before the store."""
    core = TOLD_EARLY.core(tmp_path)
    program = build_program(SANITIZED[0], "fuzz_forget", tmp_path, core)
    with pytest.raises(AssertionError, match="not so"):
        run_program(program, [SEED, "20000"], RUN_SECONDS_MAX)


def test_a_page_of_a_purged_block_costs_what_its_entry_costs(tmp_path: Path) -> None:
    """The table's walk: 4 instructions per page that is not mapped, 11 per page that is."""
    cost = {}
    for pages in (100, 1100):
        made = ((form.OP_MALLOC, 0, pages * PAGE_BYTES, 0), (form.OP_MALLOC, 1, 64, 0))
        events = [*made, (form.OP_FREE, 0, 0, 0)]
        trace = write_events(tmp_path / f"{pages}.tau", events)
        for is_touched in (False, True):
            found = page_replay(trace, "conventional-purging", touch_all=is_touched)
            cost[is_touched, pages] = found.calls["free"].max_instructions
    assert cost[False, 1100] - cost[False, 100] == 1000 * 4
    assert cost[True, 1100] - cost[True, 100] == 1000 * 11


class Replay:
    """Repeats a log of fuzz_page_heap in the models. Each method is one kind of line."""

    def __init__(self) -> None:
        """No heap yet: a log starts with one."""
        self.pool = Frames(Machine(0))
        self.heap: PageHeap | BreakHeap | None = None
        self.size_bytes = 0  # The size in the realloc that is going on.
        self.seen: Counter[str] = Counter()

    def run(self, line: str) -> None:
        """One line of the log. Raises AssertionError where the model says something else."""
        kind, *words = line.split()
        if kind == "D":
            self.dump(words)
        else:
            getattr(self, f"line_{kind}")(*map(int, words))
        self.seen[kind] += 1

    def line_H(self, is_ours: int, *numbers: int) -> None:
        """A machine with one heap, which may have been refused."""
        _, first, pages, commit, frames_count, is_committed, *shape_numbers = numbers
        control_bytes, word_bits, check_level, status = shape_numbers
        self.pool = Frames(Machine(frames_count))
        self.pool.add(0, frames_count)
        self.heap = None
        if is_committed:
            reserved = self.pool.reserve(commit)
            assert reserved is not None
            self.pool = reserved
        if status_format.NAMES[status] != "OK":
            self.seen[f"refused {status_format.NAMES[status]}"] += 1
            return
        shape = (self.pool, first, pages, control_bytes, word_bits, check_level)
        self.heap = PageHeap(*shape, commit) if is_ours else BreakHeap(*shape)

    def line_P(self, count: int) -> None:
        """Somebody else takes frames."""
        taken = self.pool.reserve(count)
        assert taken is not None
        self.taken = taken

    def line_R(self) -> None:
        """They come back."""
        self.pool.take_back(self.taken)

    def line_u(self, pointer: int, usable_bytes: int) -> None:
        """usable_size of a new object."""
        gap_bytes = self.heap.blocks.gap_bytes if pointer % PAGE_BYTES == 0 else 0
        offset = pointer - gap_bytes - self.heap.blocks.base
        assert self.heap.blocks.usable_size(offset) - gap_bytes == usable_bytes

    def line_m(self, size_bytes: int, pointer: int) -> None:
        """malloc."""
        assert (self.heap.malloc(size_bytes) or 0) == pointer
        self.seen["refused"] += pointer == 0

    def line_a(self, alignment: int, size_bytes: int, pointer: int) -> None:
        """aligned_alloc."""
        assert (self.heap.aligned_alloc(alignment, size_bytes) or 0) == pointer
        self.seen["aligned"] += pointer != 0

    def line_z(self, pointer: int, size_bytes: int, is_resized: int) -> None:
        """resize."""
        assert self.heap.resize(pointer, size_bytes) == bool(is_resized)
        self.seen[f"resized {is_resized}"] += 1

    def line_Z(self, pointer: int, size_bytes: int) -> None:
        """realloc begins: the models resize, and the log goes on with a malloc if that fails."""
        self.resized = self.heap.resize(pointer, size_bytes)
        self.size_bytes = size_bytes

    def line_K(self, pointer: int) -> None:
        """It stayed where it was."""
        assert self.resized

    def line_F(self, pointer: int) -> None:
        """It was copied; the old object goes."""
        assert not self.resized
        self.heap.free(pointer)

    def line_N(self, pointer: int) -> None:
        """A request did not fit."""
        assert not self.resized
        assert self.heap.malloc(self.size_bytes) is None

    def line_f(self, pointer: int) -> None:
        """free."""
        assert self.heap.free(pointer) == "OK"

    def line_t(self, page: int, status: int) -> None:
        """A fault."""
        answer = self.heap.map_page(page)
        if page >= 256:
            answer = status_format.NAMES[status]  # Outside the space, which the models do not know.
        assert answer == status_format.NAMES[status]
        self.seen[f"fault {answer}"] += 1

    def dump(self, words: list[str]) -> None:
        """All pages, frames, regions, and the committed pages or the break."""
        number = int(words.pop(0))
        if isinstance(self.heap, BreakHeap):
            assert number == self.heap.break_page
            mapped = dict(tuple(map(int, word.split("="))) for word in words)
            assert mapped == self.heap.mapped
            return
        assert number == len(self.heap.committed)
        regions = {}
        for word in words:
            start, state, pages = word.split(":")
            regions[int(start)] = [tuple(map(int, pair.split("="))) for pair in pages.split(",")]
            expected = HEAP_OPEN if self.heap.is_open(int(start)) else HEAP_HEAD
            assert int(state) == expected, word
        assert regions == {start: list(pages.items()) for start, pages in self.heap.regions.items()}


@pytest.mark.parametrize(("word_bits", "check_level"), [(32, 1), (64, 2)])
def test_heaps_are_as_the_models(
    word_bits: int, check_level: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six thousand calls of the fuzzer, repeated in Python."""
    build = Build(word_bits, check_level, 0, "-O2", "gcc")
    program = build_program(build, "fuzz_page_heap", tmp_path)
    log = tmp_path / "log"
    monkeypatch.setenv("TAU_FUZZ_LOG", str(log))
    print(run_program(program, [SEED, "6000"], RUN_SECONDS_MAX))
    replay = Replay()
    for number, line in enumerate(log.read_text().splitlines(), 1):
        try:
            replay.run(line)
        except (AssertionError, KeyError) as error:
            raise AssertionError(f"line {number}: {line}: {error!r}") from error
    print(dict(replay.seen))
    expected = {"aligned", "refused", "resized 0", "resized 1", "K", "F", "P", "fault OK"}
    assert expected <= set(replay.seen)

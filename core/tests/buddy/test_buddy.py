"""The buddy allocator: its C programs in several builds, against the model, wrong on purpose, and
in instructions."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from core.tests.buddy.mutants_buddy import MUTANTS
from core.tests.kit.core_build import (
    CORE,
    Build,
    build_program,
    compile_c,
    run_program,
)
from core.tests.mutants.mutate import Mutant, Program, is_noticed
from model.buddy import ARITY, ORDERS, Buddy, size_bytes
from tautochrone.code.bounds import bound_accesses, bound_instructions
from tautochrone.code.calls import Machine, core_code
from tautochrone.facts import status_format
from testing.golden import pinned

GOLDEN = Path(__file__).with_name("buddy_golden.json")
RUN_SECONDS_MAX = 300
SEED = os.environ.get("TAU_TEST_SEED", "1")
ASSERTS = "-DTAU_ASSERT_LEVEL=2"
SANITIZED = Build(64, 1, 0, "-O1", "gcc", sanitize=True)
BUILDS = [SANITIZED, Build(32, 1, 0, "-O2", "clang-14"), Build(32, 1, 0, "-Os", "gcc")]
OPERATIONS = ("take", "give")
FRAMES_COUNT = ARITY**ORDERS  # one group of the largest order
BUDDY_BYTES = 128  # more than struct tau_buddy
# Of every operation, what the fuzzer must have met.
EXPECTED_STATUSES = {
    *(f"add {status}" for status in "OK BAD_ARGUMENT FRAME_OUTSIDE FRAME_TWICE".split()),
    *(f"take {status}" for status in "OK BAD_ARGUMENT NO_FRAME".split()),
    *(
        f"give {status}"
        for status in "OK BAD_ARGUMENT FRAME_OUTSIDE FRAME_FREE FRAME_ORDER".split()
    ),
    *(f"take_mix {status}" for status in "OK NO_FRAME".split()),
}


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_examples(build: Build, tmp_path: Path) -> None:
    """The C program's own tests pass."""
    print(run_program(build_program(build, "test_buddy", tmp_path), [], RUN_SECONDS_MAX))


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_random_programs(build: Build, tmp_path: Path) -> None:
    """A hundred thousand calls against the naive account, a full walk after each."""
    program = build_program(build, "fuzz_buddy", tmp_path, extra=(ASSERTS,))
    print(run_program(program, [SEED, "100000"], RUN_SECONDS_MAX))


@pytest.mark.slow
def test_random_programs_for_long(tmp_path: Path) -> None:
    """Five million calls."""
    program = build_program(SANITIZED, "fuzz_buddy", tmp_path, extra=(ASSERTS,))
    print(run_program(program, [str(int(SEED) + 1_000_000), "5000000"], 3 * RUN_SECONDS_MAX))


@pytest.mark.slow
def test_fuzzer_finds_nothing(tmp_path: Path) -> None:
    """A minute of libFuzzer with both sanitizers, which looks for programs that reach new code."""
    build = Build(64, 1, 0, "-O1", "clang-14", sanitize=True)
    extra = (ASSERTS, "-DTAU_FUZZER", "-fsanitize=fuzzer")
    program = build_program(build, "fuzz_buddy", tmp_path, extra=extra)
    arguments = ["-max_total_time=60", "-max_len=4000", f"-artifact_prefix={tmp_path}/"]
    print(run_program(program, [*arguments, f"-seed={SEED}"], RUN_SECONDS_MAX)[-2000:])


@pytest.mark.parametrize("table", ["16 0 16", "13 1 11"])
def test_every_state_of_a_small_table(table: str, tmp_path: Path) -> None:
    """Every reachable state of three orders, of a table that is one block and of a cut one; every
    call in each."""
    program = build_program(Build(64), "explore_buddy", tmp_path)
    output = run_program(program, table.split(), RUN_SECONDS_MAX)
    assert "complete" in output, output
    print(output)


# ---- Against the model --------------------------------------------------------------------------


class Replay:
    """Repeats a log of fuzz_buddy in the model. Each method is one kind of line."""

    def __init__(self) -> None:
        """No table yet: a log starts with one."""
        self.buddy = Buddy(0)
        self.seen: Counter[str] = Counter()

    def run(self, line: str) -> None:
        """One line of the log. Raises AssertionError where the model says something else."""
        kind, *words = line.split()
        getattr(self, f"line_{kind}")(*map(int, words))

    def expect(self, kind: str, status: str, expected: int) -> None:
        """The model's STATUS is what the log says."""
        assert status == status_format.NAMES[expected]
        self.seen[f"{kind} {status}"] += 1

    def line_I(self, frames_count: int) -> None:
        """A table is made."""
        self.buddy = Buddy(frames_count)

    def line_A(self, first: int, count: int, status: int) -> None:
        """Frames are handed in."""
        self.expect("add", self.buddy.add(first, count), status)

    def line_T(self, order: int, status: int, frame: int) -> None:
        """A block is taken."""
        answer, found = self.buddy.take(order)
        self.expect("take", answer, status)
        assert found & 0xFFFFFFFF == frame

    def line_G(self, frame: int, order: int, status: int) -> None:
        """A block is given back."""
        self.expect("give", self.buddy.give(frame, order), status)

    def line_M(self, status: int, *words: int) -> None:
        """A mix is taken: counts from the largest order on, then frames."""
        answer, frames = self.buddy.take_mix(words[ORDERS - 1 :: -1])
        self.expect("take_mix", answer, status)
        assert frames == list(words[ORDERS:])


def test_random_programs_are_the_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty thousand calls of the fuzzer, repeated in Python; every status must have occurred."""
    program = build_program(Build(64), "fuzz_buddy", tmp_path)
    log = tmp_path / "log"
    monkeypatch.setenv("TAU_FUZZ_LOG", str(log))
    print(run_program(program, [SEED, "40000"], RUN_SECONDS_MAX))
    replay = Replay()
    for number, line in enumerate(log.read_text().splitlines(), 1):
        try:
            replay.run(line)
        except AssertionError as error:
            raise AssertionError(f"line {number}: {line}: {error}") from error
    print(dict(replay.seen))
    assert not EXPECTED_STATUSES - set(replay.seen)


def test_the_models_size_is_the_macros(tmp_path: Path) -> None:
    """TAU_BUDDY_SIZE_BYTES of every count up to 300 and of some above, in both layouts."""
    counts = [*range(1, 301), 4095, 4096, 16384, 16385, 65537, 1 << 17]
    lines = "".join(f'printf("%zu\\n", TAU_BUDDY_SIZE_BYTES({count}u));' for count in counts)
    source = tmp_path / "sizes.c"
    include = '#include <stdio.h>\n#include "core/buddy.h"\n'
    source.write_text(f"{include}int main(void) {{ {lines} return 0; }}\n")
    program = compile_c(Build(), [source], tmp_path / "sizes", [f"-I{CORE.parent}"])
    assert [*map(int, run_program(program, [], 60).split())] == [*map(size_bytes, counts)]


# ---- Wrong on purpose ---------------------------------------------------------------------------


def test_every_mutant_applies() -> None:
    """Each text is in the core exactly once, so that the slow test cannot rot unseen."""
    for mutant in MUTANTS:
        assert mutant.text()


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_no_mutant_survives(mutant: Mutant, tmp_path: Path) -> None:
    """A C program fails for each wrong change, or the compiler sees it."""
    programs = [
        Program(SANITIZED, "test_buddy", []),
        Program(SANITIZED, "fuzz_buddy", ["1", "20000"]),
    ]
    assert is_noticed(mutant, programs, tmp_path)


# ---- Instructions -------------------------------------------------------------------------------


class Counted:
    """An allocator of all orders on the emulated processor, with what its calls took.

    `most` has the most instructions and accesses by verb, and by verb and steps: splits or merges.
    """

    def __init__(self, machine: Machine) -> None:
        """A table of FRAMES_COUNT frames, all handed in."""
        self.machine = machine
        self.buddy, self.frame = machine.reserve(BUDDY_BYTES), machine.reserve(4)
        self.most: dict[object, tuple[int, int]] = {}
        needed = size_bytes(FRAMES_COUNT)
        assert self.call("init", machine.reserve(needed), needed, FRAMES_COUNT) == "OK"
        assert self.call("add", 0, FRAMES_COUNT) == "OK"

    def call(self, verb: str, *arguments: int, steps: int | None = None) -> str:
        """Count a call; what it answered."""
        done = self.machine.call(f"tau_buddy_{verb}", self.buddy, *arguments)
        for key in (verb, (verb, steps)):
            instructions, accesses = self.most.get(key, (0, 0))
            most = max(instructions, done.instructions), max(accesses, done.accesses)
            self.most[key] = most
        return status_format.NAMES[done.result]

    def take(self, order: int, steps: int | None = None) -> int:
        """The frame that is taken."""
        assert self.call("take", order, self.frame, steps=steps) == "OK"
        return int(self.machine.words(self.frame, 1)[0])

    def give(self, frame: int, order: int, steps: int | None = None) -> None:
        """As the call."""
        assert self.call("give", frame, order, steps=steps) == "OK"

    def refuse(self, frame: int, order: int) -> None:
        """Every give of ORDER's block at FRAME, and of what lies behind it, but the right one."""
        size = ARITY**order
        for wrong in {frame, frame + 1, frame + size // 2, frame + size}:
            for asked in range(ORDERS + 1):
                if (wrong, asked) != (frame, order):
                    assert self.call("give", wrong, asked) != "OK"

    def every_way(self) -> None:
        """Each order from each source, with each number of free blocks beside it; each refusal.

        A path depends on no more: not on which member it is, nor on the neighbors in a list.
        """
        for source in range(ORDERS):
            held = [self.take(source)] if source < ORDERS - 1 else []
            while len(held) < ARITY:
                for order in range(source + 1):
                    frame = self.take(order, source - order)
                    self.refuse(frame, order)
                    self.give(frame, order, source - order)
                held.append(self.take(source, 0))
            for frame in reversed(held):
                self.give(frame, source)
        held = [self.take(ORDERS - 1) for _ in range(ARITY)]
        for order in range(ORDERS + 1):
            assert self.call("take", order, self.frame) != "OK"
            assert self.call("give", FRAMES_COUNT, order) != "OK"


def longest_paths(isa: str) -> dict[str, dict[str, int | list[int]]]:
    """Of take and give: the longest path, the most that is seen, and the most by number of splits
    or merges, in instructions and memory accesses."""
    names = {verb: f"tau_buddy_{verb}" for verb in (*OPERATIONS, "init", "add")}
    image = core_code("buddy", isa, ["core/buddy.c"], keep=[*names.values()])
    with Machine(image) as machine:
        counted = Counted(machine)
        counted.every_way()
    found = {}
    for verb in OPERATIONS:
        instructions, accesses = counted.most[verb]
        found[verb] = {
            "bound_instructions": bound_instructions(image.elf, names[verb]),
            "max_instructions": instructions,
            "bound_accesses": bound_accesses(image.elf, names[verb]),
            "max_accesses": accesses,
            "max_instructions_by_steps": [counted.most[verb, steps][0] for steps in range(ORDERS)],
        }
    return found


@pytest.mark.parametrize("isa", ["rv32", "rv32zbb"])
def test_instructions_are_pinned(isa: str) -> None:
    """One instruction more on the longest path fails, or on the longest that is taken.

    After a wanted change: TAU_UPDATE_GOLDEN=1.
    """
    found = longest_paths(isa)
    assert found == pinned(GOLDEN, {isa: found})[isa]
    for verb, at_most in (("take", 250), ("give", 350)):
        row = found[verb]
        assert row["max_instructions"] <= row["bound_instructions"] <= at_most
        assert row["max_accesses"] <= row["bound_accesses"]


def test_the_design_says_what_each_step_costs() -> None:
    """The table of docs/design/buddy.md is the golden file's."""
    golden = pinned(GOLDEN, {})["rv32"]
    text = (CORE.parent / "docs" / "design" / "buddy.md").read_text()
    for verb in OPERATIONS:
        cells = " | ".join(map(str, golden[verb]["max_instructions_by_steps"]))
        assert re.search(rf"^\| {verb} .*\| {re.escape(cells)} \|$", text, re.M), cells

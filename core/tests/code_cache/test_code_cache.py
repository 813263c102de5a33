"""The code cache: its C programs in several builds, against the model, wrong on purpose, and in
instructions."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from core.tests.code_cache.mutants_code_cache import MUTANTS
from core.tests.kit.core_build import CORE, Build, build_program, run_program
from core.tests.mutants.mutate import Mutant, Program, is_noticed
from model.code_cache import FRAMES_MAX, INSTRUCTION_PAGES, POLICIES, CodeCache
from tautochrone.code.bounds import bound_accesses, bound_instructions
from tautochrone.code.calls import Machine, core_code
from tautochrone.facts import status_format
from tautochrone.targets.sources import CORE_FILES
from testing.golden import pinned

GOLDEN = Path(__file__).with_name("code_cache_golden.json")
RUN_SECONDS_MAX = 300
SEED = os.environ.get("TAU_TEST_SEED", "1")
ASSERTS = "-DTAU_ASSERT_LEVEL=2"
SMALL = "-DTAU_CODE_CACHE_FRAMES_MAX=32u"
LARGE = "-DTAU_CODE_CACHE_FRAMES_MAX=224u"
SANITIZED = Build(64, 1, 0, "-O1", "gcc", sanitize=True)
BUILDS = [SANITIZED, Build(32, 1, 0, "-O2", "clang-14"), Build(32, 1, 0, "-Os", "gcc")]
ACTIONS = ("retry", "load", "replace")
OPERATIONS = ("fault", "use", "age", "drop", "pin")
CACHE_BYTES = 512  # more than struct tau_code_cache
PAGES = 150  # of the caches that are counted
COUNTED_FAULTS = 1200
# Leaves room for the port in the longest path of a fault.
FAULT_INSTRUCTIONS_MAX = 350
# Of every operation, what the fuzzer must have met.
EXPECTED_STATUSES = {
    *(f"fault {status}" for status in "OK PAGE_OUTSIDE PAGE_PINNED".split()),
    *(f"drop {status}" for status in "OK FRAME_OUTSIDE FRAME_FREE".split()),
    *(f"pin {status}" for status in "OK PAGE_OUTSIDE PAGE_PINNED PAGE_MAPPED".split()),
    *(f"{policy} {action}" for policy in POLICIES for action in ACTIONS),
}


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_examples(build: Build, tmp_path: Path) -> None:
    """The C program's own tests pass, Fig. 1 among them."""
    print(run_program(build_program(build, "test_code_cache", tmp_path), [], RUN_SECONDS_MAX))


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_random_programs(build: Build, tmp_path: Path) -> None:
    """A hundred thousand calls, a full walk after each."""
    program = build_program(build, "fuzz_code_cache", tmp_path, extra=(ASSERTS,))
    print(run_program(program, [SEED, "100000"], RUN_SECONDS_MAX))


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["32", "224"])
def test_random_programs_of_other_sizes(size: str, tmp_path: Path) -> None:
    """The same for flags of one word and of seven."""
    program = build_program(SANITIZED, "fuzz_code_cache", tmp_path, extra=(ASSERTS, size))
    print(run_program(program, [SEED, "30000"], RUN_SECONDS_MAX))


@pytest.mark.slow
def test_random_programs_for_long(tmp_path: Path) -> None:
    """Ten million calls."""
    program = build_program(SANITIZED, "fuzz_code_cache", tmp_path, extra=(ASSERTS,))
    print(run_program(program, [str(int(SEED) + 1_000_000), "10000000"], 3 * RUN_SECONDS_MAX))


@pytest.mark.slow
def test_fuzzer_finds_nothing(tmp_path: Path) -> None:
    """A minute of libFuzzer with both sanitizers, which looks for programs that reach new code."""
    build = Build(64, 1, 0, "-O1", "clang-14", sanitize=True)
    extra = (ASSERTS, "-DTAU_FUZZER", "-fsanitize=fuzzer")
    program = build_program(build, "fuzz_code_cache", tmp_path, extra=extra)
    arguments = ["-max_total_time=60", "-max_len=4000", f"-artifact_prefix={tmp_path}/"]
    print(run_program(program, [*arguments, f"-seed={SEED}"], RUN_SECONDS_MAX)[-2000:])


# Policy, pages, frames, least frames.
@pytest.mark.parametrize(
    "sizes",
    [
        "0 5 4 4",
        "1 5 4 3",
        "2 5 3 2",
        "3 4 2 1",
        *(pytest.param(slow, marks=pytest.mark.slow) for slow in ("1 5 4 4", "2 4 4 3", "3 4 3 2")),
    ],
)
def test_every_state_of_a_small_cache(sizes: str, tmp_path: Path) -> None:
    """Every reachable state, and every call with every random number in each."""
    program = build_program(Build(64), "explore_code_cache", tmp_path, extra=(SMALL,))
    output = run_program(program, sizes.split(), RUN_SECONDS_MAX)
    assert "complete" in output, output
    print(output)


def test_nothing_outside_is_called(tmp_path: Path) -> None:
    """The object needs no symbol, at -O2 and -Os: a kernel must not fault in its fault handler."""
    (source,) = CORE_FILES["code_cache"]
    for compiler in ("gcc", "clang-14"):
        for optimize in ("-O2", "-Os"):
            made = tmp_path / "object.o"
            command = [compiler, "-std=c17", optimize, "-ffreestanding", f"-I{CORE.parent}", "-c"]
            subprocess.run([*command, str(CORE.parent / source), "-o", str(made)], check=True)
            needed = subprocess.run(["nm", "-u", str(made)], capture_output=True, check=True)
            assert needed.stdout == b"", (compiler, optimize)


# ---- Against the model --------------------------------------------------------------------------


class Replay:
    """Repeats a log of fuzz_code_cache in the model. Each method is one kind of line."""

    def __init__(self) -> None:
        """No cache yet: a log starts with one."""
        self.cache = CodeCache(0, 0, 0)
        self.seen: Counter[str] = Counter()

    def run(self, line: str) -> None:
        """One line of the log. Raises AssertionError where the model says something else."""
        kind, *words = line.split()
        getattr(self, f"line_{kind}")(*map(int, words))

    def expect(self, kind: str, status: str, expected: int) -> None:
        """The model's STATUS is what the log says."""
        assert status == status_format.NAMES[expected]
        self.seen[f"{kind} {status}"] += 1

    def line_I(self, pages: int, frames: int, least: int, policy: int, seed: int) -> None:
        """A cache is made."""
        self.cache = CodeCache(pages, frames, least, POLICIES[policy], seed)
        assert self.cache.status() == "OK"

    def line_F(self, page: int, status: int, action: int, frame: int, evicted: int) -> None:
        """A fault: to the frame, and to the page that leaves."""
        answer, found = self.cache.fault(page)
        self.expect("fault", answer, status)
        if found is not None:
            assert (found.action, found.frame) == (ACTIONS[action], frame)
            assert found.evicted is None or found.evicted == evicted
            self.seen[f"{self.cache.policy} {found.action}"] += 1

    def line_U(self, *words: int) -> None:
        """Frames were used."""
        bits = sum(word << 32 * place for place, word in enumerate(words))
        self.cache.use({frame for frame in range(32 * len(words)) if bits >> frame & 1})

    def line_A(self) -> None:
        """A period ends."""
        self.cache.age()

    def line_D(self, frame: int, status: int) -> None:
        """A frame is emptied."""
        self.expect("drop", self.cache.drop(frame), status)

    def line_P(self, page: int, status: int) -> None:
        """A page is pinned."""
        self.expect("pin", self.cache.pin(page), status)


def test_random_programs_are_the_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty thousand calls of the fuzzer, repeated in Python; every status must have occurred, and
    every action of every policy."""
    program = build_program(Build(64), "fuzz_code_cache", tmp_path)
    log = tmp_path / "log"
    monkeypatch.setenv("TAU_FUZZ_LOG", str(log))
    print(run_program(program, [SEED, "60000"], RUN_SECONDS_MAX))
    replay = Replay()
    for number, line in enumerate(log.read_text().splitlines(), 1):
        try:
            replay.run(line)
        except AssertionError as error:
            raise AssertionError(f"line {number}: {line}: {error}") from error
    print(dict(replay.seen))
    assert not EXPECTED_STATUSES - set(replay.seen)


def test_the_models_limits_are_the_headers() -> None:
    """What both state as a number."""
    header = (CORE / "code_cache.h").read_text()
    for name, value in (("INSTRUCTION_PAGES", INSTRUCTION_PAGES), ("FRAMES_MAX", FRAMES_MAX)):
        assert f"#define TAU_CODE_CACHE_{name} {value}u\n" in header


# ---- Wrong on purpose ---------------------------------------------------------------------------


def test_every_mutant_applies() -> None:
    """Each text is in the core exactly once, so that the slow test cannot rot unseen."""
    for mutant in MUTANTS:
        assert mutant.text()


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_no_mutant_survives(
    mutant: Mutant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A C program fails for each wrong change, or the compiler or the model sees it."""
    programs = [
        Program(SANITIZED, "test_code_cache", []),
        Program(SANITIZED, "fuzz_code_cache", ["1", "20000"]),
        Program(Build(64), "explore_code_cache", ["2", "5", "3", "2"], (SMALL,)),
    ]
    if not is_noticed(mutant, programs, tmp_path):
        core = mutant.core(tmp_path / "again")
        program = build_program(Build(64), "fuzz_code_cache", tmp_path, core)
        monkeypatch.setenv("TAU_FUZZ_LOG", str(tmp_path / "log"))
        run_program(program, ["1", "20000"], RUN_SECONDS_MAX)
        replay = Replay()
        with pytest.raises(AssertionError):
            for line in (tmp_path / "log").read_text().splitlines():
                replay.run(line)


# ---- Instructions -------------------------------------------------------------------------------


class Counted:
    """A cache on the emulated processor, with what its calls took.

    `most` has the most instructions and accesses by verb.
    """

    def __init__(self, machine: Machine, policy: int, frames: int) -> None:
        """Full frames, of which the last four loads are recent."""
        self.machine, self.frames = machine, frames
        self.cache, self.answer = machine.reserve(CACHE_BYTES), machine.reserve(16)
        self.flags = machine.reserve(FRAMES_MAX // 8)
        self.most: dict[str, tuple[int, int]] = {}
        settings = machine.reserve(20)
        machine.words(settings, 5)[:] = [PAGES, frames, INSTRUCTION_PAGES, policy, 1]
        assert self.call("init", settings, machine.reserve(PAGES)) == "OK"
        self.most.clear()

    def call(self, verb: str, *arguments: int) -> str:
        """Count a call; what it answered, if it answers."""
        done = self.machine.call(f"tau_code_cache_{verb}", self.cache, *arguments)
        instructions, accesses = self.most.get(verb, (0, 0))
        self.most[verb] = max(instructions, done.instructions), max(accesses, done.accesses)
        return "" if verb in ("use", "age") else status_format.NAMES[done.result]

    def run(self) -> None:
        """Faults at all pages, with all kinds of flags; each refusal."""
        for step in range(COUNTED_FAULTS):
            assert self.call("fault", step * 7 % PAGES, self.answer) == "OK"
            word = (step * 0x9E3779B1 ^ step << 7) & 0xFFFFFFFF
            self.machine.words(self.flags, 2)[:] = [word, word >> 3 ^ 0xFFFF]
            self.call("use", self.flags)
            if step % 5 == 0:
                self.call("age")
        for page in range(PAGES + 1):
            self.call("pin", page)
        for _ in range(2):
            for frame in range(self.frames + 1):
                self.call("drop", frame)


def costs(isa: str) -> dict[str, object]:
    """Of each call the longest path; on RISC-V also the most that is seen, of a fault by policy."""
    names = {verb: f"tau_code_cache_{verb}" for verb in (*OPERATIONS, "init")}
    image = core_code("code_cache", isa, CORE_FILES["code_cache"], keep=[*names.values()])
    bounds = {verb: bound_instructions(image.elf, names[verb]) for verb in OPERATIONS}
    found: dict[str, object] = {"bound_instructions": bounds}
    if isa == "m4":
        return found
    most: dict[str, tuple[int, int]] = {}
    by_policy = {}
    with Machine(image) as machine:
        for number, policy in enumerate(POLICIES):
            faults = []
            for frames in (INSTRUCTION_PAGES, 33, FRAMES_MAX):
                counted = Counted(machine, number, frames)
                counted.run()
                faults.append(counted.most["fault"])
                for verb, pair in counted.most.items():
                    most[verb] = tuple(map(max, most.get(verb, (0, 0)), pair))
            by_policy[policy] = max(instructions for instructions, _ in faults)
    found["bound_accesses"] = {verb: bound_accesses(image.elf, names[verb]) for verb in OPERATIONS}
    found["max_instructions"] = {verb: most[verb][0] for verb in OPERATIONS}
    found["max_accesses"] = {verb: most[verb][1] for verb in OPERATIONS}
    found["max_fault_instructions_by_policy"] = by_policy
    return found


@pytest.mark.parametrize("isa", ["rv32", "rv32zbb", "m4"])
def test_instructions_are_pinned(isa: str) -> None:
    """One instruction more on the longest path fails, or on the longest that is taken.

    After a wanted change: TAU_UPDATE_GOLDEN=1.
    """
    found = costs(isa)
    assert found == pinned(GOLDEN, {isa: found})[isa]
    assert found["bound_instructions"]["fault"] <= FAULT_INSTRUCTIONS_MAX
    for cost in ("instructions", "accesses") if isa != "m4" else ():
        for verb in OPERATIONS:
            assert found[f"max_{cost}"][verb] <= found[f"bound_{cost}"][verb]


def test_the_design_says_what_a_call_costs() -> None:
    """The table of docs/design/code_cache.md is the golden file's."""
    golden = {isa: pinned(GOLDEN, {})[isa] for isa in ("rv32", "rv32zbb", "m4")}
    text = (CORE.parent / "docs" / "design" / "code_cache.md").read_text()
    for verb in OPERATIONS:
        bounds = [golden[isa]["bound_instructions"][verb] for isa in golden]
        cells = " | ".join(map(str, [golden["rv32"]["max_instructions"][verb], *bounds]))
        assert re.search(rf"^\| {verb} \| {re.escape(cells)} \|$", text, re.M), (verb, cells)
    by_policy = golden["rv32"]["max_fault_instructions_by_policy"]
    cells = " | ".join(str(by_policy[policy]) for policy in POLICIES)
    assert f"| {cells} |\n" in text, cells

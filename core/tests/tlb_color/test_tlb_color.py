"""TLB coloring: its C programs in several builds, against the model, on all known geometries, wrong
on purpose, and in instructions."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from core.tests.kit.core_build import (
    Build,
    build_library,
    build_program,
    run_program,
)
from core.tests.mutants.mutate import Mutant, Program, is_noticed
from core.tests.tlb_color.mutants_tlb_color import MUTANTS
from core.tests.tlb_color.native_tlb_color import Native
from model.tlb_color.ownership import (
    CODE,
    DATA,
    DIRECTORY,
    ISOLATED,
    NO_MISS,
    Array,
    Geometry,
    Partition,
    Principal,
    Structure,
    Window,
    runs_of,
)
from tautochrone.machine.longest_path import bound_instructions
from tautochrone.machine.calls import Machine, core_code
from tautochrone.declarations import Library
from tautochrone.facts import status_format
from tautochrone.targets.sources import CORE_FILES
from tautochrone.tlb.geometry import known_geometry, known_names
from testing.golden import pinned

GOLDEN = Path(__file__).with_name("tlb_color_golden.json")
RUN_SECONDS_MAX = 300
SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
ASSERTS = "-DTAU_ASSERT_LEVEL=2"
SANITIZED = Build(64, 1, 0, "-O1", "gcc", sanitize=True)
STRICT = Build(32, 2, 0, "-O1", "gcc", sanitize=True)
BUILDS = [SANITIZED, STRICT, Build(64, 0, 0, "-O2", "clang-14"), Build(32, 1, 0, "-Os", "gcc")]
PAGE = 4096
RANDOM_PARTITIONS = 1500
PRINCIPALS = (8, 16)
WINDOW_PAGES_LOG2_MIN = 12
ABOVE_MAX = {"malloc": 12, "free": 16}


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_examples(build: Build, tmp_path: Path) -> None:
    """The C programs' own tests pass."""
    for name in ("test_tlb_color", "test_tlb_malloc"):
        print(run_program(build_program(build, name, tmp_path), [], RUN_SECONDS_MAX))


@pytest.mark.parametrize("build", BUILDS[:3], ids=str)
def test_random_programs(build: Build, tmp_path: Path) -> None:
    """Two hundred thousand calls on several heaps, of which only the runs can be touched."""
    program = build_program(build, "fuzz_tlb_color", tmp_path, extra=(ASSERTS,))
    print(run_program(program, [str(SEED), "200000"], RUN_SECONDS_MAX))


@pytest.mark.slow
def test_random_programs_for_long(tmp_path: Path) -> None:
    """Ten million calls."""
    program = build_program(SANITIZED, "fuzz_tlb_color", tmp_path, extra=(ASSERTS,))
    print(run_program(program, [str(SEED + 1_000_000), "10000000"], 3 * RUN_SECONDS_MAX))


@pytest.mark.slow
def test_fuzzer_finds_nothing(tmp_path: Path) -> None:
    """A minute of libFuzzer with both sanitizers, which looks for programs that reach new code."""
    build = Build(64, 1, 0, "-O1", "clang-14", sanitize=True)
    extra = (ASSERTS, "-DTAU_FUZZER", "-fsanitize=fuzzer")
    program = build_program(build, "fuzz_tlb_color", tmp_path, extra=extra)
    arguments = ["-max_total_time=60", "-max_len=4000", f"-artifact_prefix={tmp_path}/"]
    print(run_program(program, [*arguments, f"-seed={SEED}"], RUN_SECONDS_MAX)[-2000:])


def test_every_small_geometry(tmp_path: Path) -> None:
    """All rows, all ranges: no page outside the owner's sets, directory entries included."""
    print(run_program(build_program(Build(64), "explore_tlb_color", tmp_path), [], RUN_SECONDS_MAX))


# ---- Against the model --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The core as a shared library."""
    return Library(build_library(Build(64), tmp_path_factory.mktemp("core")))


def random_geometry(dice: random.Random) -> Geometry:
    """Up to three arrays; now and then with something wrong."""
    arrays, structures = [], []
    for number in range(dice.randint(1, 3)):
        bits = dice.randint(0, 4)
        ways = dice.randint(1, 6)
        safe = dice.randint(1, ways) if dice.random() < 0.98 else dice.choice([0, ways + 1])
        arrays.append(Array(1 << bits, ways, safe))
        for role, size in ((DATA, PAGE), (DIRECTORY, 8 * PAGE), (CODE, PAGE)):
            if role != DATA and dice.random() < 0.6:
                continue
            low = 8 if size > PAGE else 1
            rows = [low << bit for bit in range(bits)]
            for bit in range(bits):  # stays independent: only later rows are joined
                for other in range(bit + 1, bits):
                    rows[bit] ^= rows[other] * dice.randint(0, 1)
                rows[bit] ^= low << (bits + dice.randint(0, 2)) if dice.random() < 0.5 else 0
            if rows and dice.random() < 0.02:
                rows[0] = dice.choice([0, 1, rows[-1]])
            constant = dice.randint(0, (1 << bits) - (dice.random() < 0.98))
            structures.append(Structure(role, size, number, tuple(rows), constant))
    return Geometry(PAGE, tuple(arrays), tuple(structures))


def random_partition(dice: random.Random) -> Partition:
    """Up to three principals, whose sets and windows are mostly apart."""
    geometry = random_geometry(dice)
    count = dice.randint(1, 3)
    owners = [
        [dice.randrange(2 * count) // 2 for _ in range(each.sets)] for each in geometry.arrays
    ]
    if dice.random() < 0.5:
        owners = [sorted(each) for each in owners]
    principals = []
    for number in range(count):
        sets = [{index for index, owner in enumerate(each) if owner == number} for each in owners]
        if dice.random() < 0.05:
            sets[-1].add(dice.randrange(len(owners[-1]) + 1))
        start = number if dice.random() < 0.97 else dice.randint(0, count)
        pages = 1 << dice.randint(1, 7)
        window = Window((1 << 44) + start * 128 * PAGE, pages * PAGE, PAGE)
        if dice.random() < 0.02:
            window = replace(window, start=window.start + PAGE)
        taken = [dice.choice([0, 0, 0, 1]) for _ in sets]
        principals.append(Principal(sets, [window], taken))
    return Partition(geometry, principals)


def test_random_partitions_are_the_models(library: Library) -> None:
    """Status and runs of random partitions, right and wrong ones; every status must occur."""
    dice = random.Random(SEED)
    seen: Counter[str] = Counter()
    for turn in range(RANDOM_PARTITIONS):
        partition = random_partition(dice)
        native = Native(library, partition)
        context = f"seed {SEED}, partition {turn}: {partition}"
        assert native.check() == partition.check(), context
        for number in range(len(partition.principals)):
            for mode in (ISOLATED, NO_MISS):
                pages = dice.choice([0, 1, 2, 3, dice.randint(1, 40)])
                status, chosen = partition.heap(number, 0, pages, mode)
                expected = status, runs_of(chosen, PAGE)
                assert native.heap(number, 0, pages, mode) == expected, (context, pages)
                seen[status] += 1
    print(dict(seen))
    wanted = "OK BAD_ARGUMENT SETS_OUTSIDE SETS_OWNED WINDOW_FULL WAYS_EXCEEDED"
    assert set(seen) == set(wanted.split())


# ---- Every known geometry -----------------------------------------------------------------------


def model_of(name: str) -> Geometry:
    """A known geometry as the model's."""
    known = known_geometry(name)
    arrays = (Array(each.sets, each.ways, each.safe_ways) for each in known.arrays)
    structures = (
        Structure(each.role, each.page_bytes, each.array, each.rows, each.constant)
        for each in known.structures
    )
    return Geometry(known.page_bytes, tuple(arrays), tuple(structures))


def equal_shares(geometry: Geometry, count: int) -> Partition:
    """Each has an equal share of each array and a window of whole index periods.

    Who has set s of the smallest array has all sets of the others that equal s modulo its sets.
    """
    rows = [row for structure in geometry.structures for row in structure.rows]
    size = geometry.page_bytes << max(WINDOW_PAGES_LOG2_MIN, *(row.bit_length() for row in rows))
    least = min(array.sets for array in geometry.arrays if array.sets > 1)
    principals = []
    for number in range(count):
        sets = [
            [index for index in range(array.sets) if index % least * count // least == number]
            for array in geometry.arrays
        ]
        window = Window((number + 1) * size, size, geometry.page_bytes)
        principals.append(Principal(sets, [window]))
    return Partition(geometry, principals)


def sets_used(
    truth: Geometry, native: Native, number: int, page_bytes: int
) -> tuple[set[tuple[int, int]], int]:
    """The colorable (array, index) of all pages that a principal can have, and how many these
    are."""
    pages = native.most_pages(number, 0)
    status, runs = native.heap(number, 0, pages, ISOLATED)
    assert status == "OK"
    used = {
        (structure.array, structure.index(address // truth.page_bytes))
        for start, size in runs
        for address in range(start, start + size, page_bytes)
        for structure in truth.translating(page_bytes)
        if truth.arrays[structure.array].sets > 1
    }
    return used, pages


@pytest.mark.parametrize("count", PRINCIPALS)
@pytest.mark.parametrize("name", known_names())
def test_no_two_principals_share_a_set(name: str, count: int, library: Library) -> None:
    """Every page that each of them can ever have, over a whole index period."""
    geometry = model_of(name)
    partition = equal_shares(geometry, count)
    native = Native(library, partition)
    assert native.check() == "OK"
    found = []
    for number, principal in enumerate(partition.principals):
        used, pages = sets_used(geometry, native, number, PAGE)
        owned = {
            (array, index)
            for array, facts in enumerate(geometry.arrays)
            if facts.sets > 1
            for index in principal.sets[array]
        }
        assert pages > 0
        assert used <= owned
        found.append(used)
    assert not any(one & other for one, other in combinations(found, 2))


def without_directories(geometry: Geometry) -> Geometry:
    """As one who colors pages only."""
    kept = tuple(each for each in geometry.structures if each.role != DIRECTORY)
    return replace(geometry, structures=kept)


def with_wrong_bit(geometry: Geometry) -> Geometry:
    """As one who takes VA[19] for VA[21]."""
    changed = tuple(
        replace(each, rows=tuple(0x80 if row == 0x200 else row for row in each.rows))
        for each in geometry.structures
        if each.role != DIRECTORY
    )
    return replace(geometry, structures=changed)


@pytest.mark.parametrize("belief_of", [without_directories, with_wrong_bit])
def test_a_wrong_belief_is_seen(belief_of: object, library: Library) -> None:
    """Zen 4 without its directory entries, or with one index bit wrong: principals meet."""
    truth = model_of("zen4")
    believed = belief_of(truth)  # type: ignore[operator]
    partition = equal_shares(believed, 8)
    size = 1 << 30
    for number, principal in enumerate(partition.principals):
        window = Window((number + 1) * size, size, PAGE)
        partition.principals[number] = replace(principal, windows=[window])
    native = Native(library, partition)
    found = [sets_used(truth, native, number, PAGE)[0] for number in range(2)]
    assert found[0] & found[1]


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
        Program(STRICT, "test_tlb_color", []),
        Program(STRICT, "fuzz_tlb_color", ["1", "50000"]),
        Program(Build(64), "explore_tlb_color", []),
    ]
    assert is_noticed(mutant, programs, tmp_path)


# ---- Instructions -------------------------------------------------------------------------------

# The paper's TLB: 16 sets of 4 ways with a linear index, of which sets 4 to 7 are owned.
SETS_LOG2, OWNED = 4, 0xF0
WINDOW_LOG2 = 18
PAGES = 12


class Counted:
    """A started heap on the emulated processor, and its TLSF."""

    def __init__(self, machine: Machine) -> None:
        """Twelve pages in three runs."""
        self.machine = machine
        window = machine.reserve(1 << WINDOW_LOG2, 1 << WINDOW_LOG2)
        page_log2 = PAGE.bit_length() - 1
        array = self.words(1 << SETS_LOG2, 4, 4)
        rows = self.words(*(1 << bit for bit in range(SETS_LOG2)))
        structure = self.words(rows, 0, page_log2 << 8)
        geometry = self.words(array, structure, 1 | 1 << 8 | page_log2 << 16)
        sets = self.words(self.words(OWNED), 0)
        windows = self.words(window, WINDOW_LOG2 | page_log2 << 8)
        principals = self.words(sets, windows, 1)
        partition = self.words(geometry, principals, 1)
        request = self.words(0, 0, PAGES, 1)
        self.heap = machine.reserve(64)
        pages = (1 << WINDOW_LOG2) // PAGE
        bits = machine.reserve(pages // 8)
        arguments = (self.heap, partition, request, bits, pages // 32)
        assert status_format.NAMES[machine.call("tau_tlb_color_init", *arguments).result] == "OK"
        assert status_format.NAMES[machine.call("tau_tlb_color_start", self.heap).result] == "OK"
        self.blocks = int(machine.words(self.heap, 1)[0])

    def words(self, *values: int) -> int:
        """The address of a copy of these words."""
        address = self.machine.reserve(4 * len(values))
        self.machine.words(address, len(values))[:] = values
        return address

    def seen(self, mechanism: str, heap: int, size: int) -> tuple[int, int]:
        """The instructions of a malloc and of its free, once the peak of use is noted."""
        warm = self.machine.call("tau_tlsf_malloc", self.blocks, size)
        self.machine.call("tau_tlsf_free", self.blocks, warm.result)
        made = self.machine.call(f"tau_{mechanism}_malloc", heap, size)
        assert made.result != 0
        freed = self.machine.call(f"tau_{mechanism}_free", heap, made.result)
        assert status_format.NAMES[freed.result] == "OK"
        return made.instructions, freed.instructions


def above_tlsf(isa: str, level: int) -> dict[str, dict[str, int]]:
    """Of malloc and free: bounds, and what is added to TLSF's, by bound and as seen."""
    names = [f"tau_{mechanism}_{verb}" for mechanism in ("tlb_color", "tlsf") for verb in ABOVE_MAX]
    keep = [*names, "tau_tlb_color_init", "tau_tlb_color_start"]
    image = core_code("tlb_color", isa, CORE_FILES["tlb_color"], keep, check_level=level)
    with Machine(image) as machine:
        counted = Counted(machine)
        added = {
            tuple(
                own - tlsf
                for own, tlsf in zip(
                    counted.seen("tlb_color", counted.heap, size),
                    counted.seen("tlsf", counted.blocks, size),
                    strict=True,
                )
            )
            for size in (1, 24, 100, 1000, PAGE, 3 * PAGE)
        }
    assert len(added) == 1  # the same for every size
    found = {}
    for verb, seen in zip(ABOVE_MAX, added.pop(), strict=True):
        bound = bound_instructions(image.elf, f"tau_tlb_color_{verb}")
        below = bound_instructions(image.elf, f"tau_tlsf_{verb}")
        found[verb] = {"bound": bound, "bound_above_tlsf": bound - below, "seen_above_tlsf": seen}
    return found


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("isa", ["rv32", "rv32zbb"])
def test_instructions_above_tlsf_are_pinned(isa: str, level: int) -> None:
    """One instruction more fails. After a wanted change: TAU_UPDATE_GOLDEN=1."""
    found = above_tlsf(isa, level)
    key = f"{isa} level {level}"
    assert found == pinned(GOLDEN, {key: found})[key]
    for verb, most in ABOVE_MAX.items():
        assert found[verb]["bound_above_tlsf"] <= most
        assert found[verb]["seen_above_tlsf"] == found[verb]["bound_above_tlsf"]

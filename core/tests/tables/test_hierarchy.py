"""Hierarchical tables: the C programs, the model, the stated bounds, mutants that must fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.tests.kit.core_build import CORE, Build, run_program
from core.tests.mutants.mutate import Mutant
from core.tests.tables.table_programs import (
    ASSERTS,
    BUILDS,
    RUN_SECONDS_MAX,
    SEED,
    Replay,
    build,
    examples_pass,
    fuzzer_finds_nothing,
    random_calls_pass,
    survives,
)
from model.frames import Frames, Machine
from model.hierarchy import HierarchicalSpace
from model.hierarchy import Tables as ModelTables
from testing.table_cost import RIGHTS, Tables, bounds_of, placements, unmap_costs

# What core/hierarchy.h states, at most 2^20 pages: instructions on RV32IMC, the same with Zbb,
# memory accesses.
STATED = {
    "map_region": (488, 415, 150),
    "map_page": (282, 246, 88),
    "unmap_region": (455, 382, 129),
    "translate": (52, 51, 13),
}
FLAT_MAX = 1.05  # largest cost at any size by the largest at any other


@pytest.mark.parametrize("built", BUILDS, ids=str)
def test_examples(built: Build, tmp_path: Path) -> None:
    """The C program's own tests pass."""
    examples_pass(built, "hierarchy", tmp_path)


@pytest.mark.parametrize("pages_log2_max", [12, 26])
def test_examples_in_other_sizes(pages_log2_max: int, tmp_path: Path) -> None:
    """A build for the smallest spaces that the examples need, and one for the largest of all."""
    extra = (ASSERTS, f"-DTAU_SPACE_PAGES_LOG2_MAX={pages_log2_max}")
    program = build(Build(32, 1, 0, "-O1"), "test", "hierarchy", tmp_path, CORE, *extra)
    print(run_program(program, [], RUN_SECONDS_MAX))


@pytest.mark.parametrize("arm", [False, True])
def test_random_calls(arm: bool, tmp_path: Path) -> None:
    """Three hundred thousand calls against the naive account, bits counted from either end."""
    random_calls_pass("hierarchy", arm, tmp_path)


@pytest.mark.parametrize("depth", [4, pytest.param(5, marks=pytest.mark.slow)])
def test_every_sequence_around_borders(depth: int, tmp_path: Path) -> None:
    """All of a million sequences of four calls on pages beside borders of chunks."""
    program = build(Build(32, 1, 0, "-O2", "gcc"), "explore", "hierarchy", tmp_path, CORE, ASSERTS)
    print(run_program(program, [str(depth)], 3 * RUN_SECONDS_MAX))


@pytest.mark.slow
@pytest.mark.parametrize("built", BUILDS, ids=str)
def test_random_calls_for_long(built: Build, tmp_path: Path) -> None:
    """Ten million calls."""
    program = build(built, "fuzz", "hierarchy", tmp_path, CORE, ASSERTS)
    print(run_program(program, [str(int(SEED) + 1_000_000), "10000000"], 3 * RUN_SECONDS_MAX))


class HierarchyReplay(Replay):
    """A log of fuzz_hierarchy in model/hierarchy.py."""

    def line_M(self, frames_count: int, records_count: int) -> None:
        """A machine."""
        self.pool = Frames(Machine(frames_count))
        assert self.pool.add(0, frames_count) == "OK"
        self.tables = ModelTables(records_count)
        self.spaces: dict[int, HierarchicalSpace] = {}

    def line_S(self, index: int, pages_log2: int, commits: int, reserved_count: int) -> None:
        """A space is made."""
        pool = self.pool.reserve(reserved_count) if commits else self.pool
        assert pool is not None
        self.spaces[index] = HierarchicalSpace(pages_log2, pool, self.tables, bool(commits))

    def line_G(self, index: int) -> None:
        """A space is closed."""
        space = self.spaces.pop(index)
        assert space.close() == "OK"
        if space.commit_max_pages is not None:
            self.pool.take_back(space.pool)

    def line_R(self, index: int, start: int, pages: int, rights: int, status: int) -> None:
        """map_region."""
        self.expect("map_region", self.spaces[index].map_region(start, pages, rights), status)

    def line_P(self, index: int, page: int, access: int, status: int, frame: int) -> None:
        """map_page."""
        self.expect("map_page", self.spaces[index].map_page(page, access), status)
        if self.seen and status == 0:
            assert self.spaces[index].mapped[page] == frame

    def line_U(self, index: int, start: int, status: int) -> None:
        """unmap_region."""
        self.expect("unmap_region", self.spaces[index].unmap_region(start), status)

    def line_T(self, index: int, page: int, access: int, status: int, frame: int) -> None:
        """translate."""
        answer, found = self.spaces[index].translate(page, access)
        self.expect("translate", answer, status)
        assert answer != "OK" or found == frame


EXPECTED_STATUSES = {
    f"{call} {status}"
    for call, statuses in (
        (
            "map_region",
            "OK BAD_ARGUMENT PAGE_ZERO PAGE_OUTSIDE REGION_TOO_LARGE REGION_OVERLAPS NOT_ADMITTED "
            "NO_TABLE",
        ),
        (
            "map_page",
            "OK PAGE_ZERO PAGE_OUTSIDE NOT_IN_REGION ACCESS_DENIED PAGE_MAPPED NO_TABLE NO_FRAME",
        ),
        ("unmap_region", "OK PAGE_ZERO PAGE_OUTSIDE NOT_A_REGION"),
        ("translate", "OK NOT_IN_REGION ACCESS_DENIED"),
    )
    for status in statuses.split()
}


def test_the_account_is_the_model(tmp_path: Path) -> None:
    """Forty thousand calls of the fuzzer, repeated in Python; every status must have occurred."""
    HierarchyReplay().agrees("hierarchy", EXPECTED_STATUSES, tmp_path)


def test_bounds_are_as_stated() -> None:
    """The longest path of each operation, in instructions and accesses [P0-27]."""
    text = (CORE / "hierarchy.h").read_text()
    for verb, (instructions, with_zbb, accesses) in STATED.items():
        plain = bounds_of("hierarchical", verb, "rv32")
        bits = bounds_of("hierarchical", verb, "rv32zbb")
        print(verb, plain, bits)
        assert plain[0] <= instructions
        assert bits[0] <= with_zbb
        assert max(plain[1], bits[1]) <= accesses
        assert f"{instructions} instructions ({with_zbb} with Zbb), {accesses} accesses" in text


def test_unmap_costs_the_same_at_every_size() -> None:
    """The largest of 256 placements, from one page to 2^16, by the largest at any other size."""
    with Tables("hierarchical", "rv32", 20) as tables:
        costs = [
            unmap_costs(tables, pages, placements(pages, 20, 256, 1), mapped_max=3)
            for pages in (1, 2, 31, 33, 1024, 1 << 16)
        ]
    print(costs)
    for index in (0, 1):
        measured = [cost[index] for cost in costs]
        assert max(measured) <= FLAT_MAX * min(measured)
        assert max(measured) <= bounds_of("hierarchical", "unmap_region", "rv32")[index]


def test_faults_cost_no_more_than_stated() -> None:
    """Faults at both ends and in the middle of a large region, with and without a record."""
    pages = 40000
    instructions = accesses = 0
    with Tables("hierarchical", "rv32", 20) as tables:
        for start, _, _ in placements(pages, 20, 64, 1):
            tables.map_region(start, pages)
            for page in (start, start + 20000, start + 20001, start + pages - 1):
                done = tables.map_page(page)
                instructions = max(instructions, done.instructions)
                accesses = max(accesses, done.accesses)
                translated = tables.translate(page)
                assert translated.instructions <= STATED["translate"][0]
            tables.unmap(start, pages)
    print(instructions, accesses, RIGHTS)
    assert instructions <= STATED["map_page"][0]
    assert accesses <= STATED["map_page"][2]


MUTANTS = [
    Mutant(
        "record keeps its starts", "hierarchy.c", "    record->starts = 0;\n", "    (void)record;\n"
    ),
    Mutant("record keeps what is mapped", "hierarchy.c", "    record->mapped = 0;\n", ""),
    Mutant(
        "front of the next chunk kept",
        "hierarchy.c",
        "next->record->mapped &= ~tau_bits_above(next->place);",
        "(void)0;",
    ),
    Mutant(
        "rest of the first chunk kept",
        "hierarchy.c",
        "        spot->record->mapped &= front;",
        "        (void)front;",
    ),
    Mutant(
        "neighbor behind forgotten too",
        "hierarchy.c",
        "spot->record->mapped &= front | ~tau_bits_above(next->place);",
        "spot->record->mapped &= front;",
    ),
    Mutant(
        "inner records of another region given back",
        "hierarchy.c",
        "bool is_last = !has_next || next->chunk != spot->chunk;",
        "bool is_last = true;",
    ),
    Mutant(
        "inner records kept",
        "hierarchy.c",
        "if (is_last && sp != kept)",
        "if (is_last && kept < spot->chunk)",
    ),
    Mutant(
        "first record given back",
        "hierarchy.c",
        "hierarchy_give_records(space, kept + 1, sp);",
        "hierarchy_give_records(space, kept, sp);",
    ),
    Mutant(
        "chunk's stack not emptied",
        "hierarchy.c",
        "        space->chunks.regions[spot->chunk].top = kept;\n",
        "",
    ),
    Mutant(
        "joined chunk keeps its stack",
        "hierarchy.c",
        "    space->chunks.regions[spot->chunk].top = spot->chunk - 1;\n    region_tree_union",
        "    region_tree_union",
    ),
    Mutant(
        "joined chunk stays in the tree",
        "hierarchy.c",
        "    region_tree_union(&space->tree, (struct tau_page){spot->chunk - 1});\n",
        "",
    ),
    Mutant(
        "split chunk not in the tree",
        "hierarchy.c",
        "        region_tree_split(&space->tree, (struct tau_page){spot.chunk - 1});\n",
        "",
    ),
    Mutant(
        "power-up stack believed",
        "hierarchy.c",
        "        space->chunks.regions[spot.chunk].top = spot.chunk - 1;\n        spot.record",
        "        spot.record",
    ),
    Mutant(
        "count not reset",
        "hierarchy.c",
        "        cut.spot.record->header[cut.spot.place] = 0;\n",
        "        (void)0;\n",
    ),
    Mutant(
        "neighbor's header taken for a count",
        "hierarchy.c",
        "if (!hierarchy_is_single(&cut.spot))",
        "if (true)",
    ),
    Mutant("ring not closed", "hierarchy.c", "        links[frame] = frame;\n", ""),
    Mutant("newest frame lost", "hierarchy.c", "        links[frame] = links[oldest];\n", ""),
    Mutant("one record too few asked for", "hierarchy.c", "        needed++;\n", ""),
    Mutant(
        "two records asked for one chunk",
        "hierarchy.c",
        "end != cut->end && last != first &&",
        "end != cut->end &&",
    ),
    Mutant(
        "promised records given away",
        "hierarchy.c",
        "return commits || tables->free.ready.count != tables->promised;",
        "return commits || tables->free.ready.count != 0;",
    ),
    Mutant(
        "promise not kept apart",
        "hierarchy.c",
        "    space->tables->promised += cut.promised;\n",
        "",
    ),
    Mutant(
        "promise not taken back",
        "hierarchy.c",
        "            hierarchy_inner_chunks(spot.chunk, hierarchy_chunk_of(end)) - taken;\n",
        "            0 * taken;\n",
    ),
    Mutant(
        "record taken that is not there",
        "hierarchy.c",
        "if (record == NULL && !hierarchy_has_record(space)) {",
        "if (false) {",
    ),
    Mutant(
        "kept promise still counted", "hierarchy.c", "        space->tables->promised--;\n", ""
    ),
    Mutant(
        "frame missing after zeroing",
        "hierarchy.c",
        "    if (!tau_frames_clean_one(space->frames)) {\n        return TAU_NO_FRAME;\n    }\n",
        "    (void)tau_frames_clean_one(space->frames);\n",
    ),
    Mutant(
        "mapped bit believed in no record's chunk",
        "hierarchy.c",
        "        !validity_lookup(&space->chunks, hierarchy_chunk_of(page.number), &index)) {",
        "        (index = space->chunks.data[hierarchy_chunk_of(page.number)]) >= 1000000) {",
    ),
    Mutant(
        "page mapped twice",
        "hierarchy.c",
        "(record->mapped & tau_bits_mask(hierarchy_place_of(page.number))) != 0) {",
        "record->mapped == 1) {",
    ),
    Mutant(
        "single page where the chunk ends",
        "hierarchy_inline.h",
        "behind = starts << 1;",
        "behind = starts << 1 | starts >> 31;",
    ),
    Mutant(
        "whole chunk's start found",
        "hierarchy_inline.h",
        "own->starts & tau_bits_from(hierarchy_place_of(page))",
        "own->starts",
    ),
    Mutant(
        "enough records but one",
        "hierarchy.c",
        "    return 1 + 2 * regions + inner;",
        "    return 2 * regions + inner;",
    ),
]


def test_every_mutant_applies() -> None:
    """Each text is in the core exactly once, so that the slow test cannot rot unseen."""
    for mutant in MUTANTS:
        assert mutant.text()


@pytest.mark.slow
def test_fuzzer_finds_nothing(tmp_path: Path) -> None:
    """Half a minute of libFuzzer, which looks for programs that reach new code."""
    fuzzer_finds_nothing("hierarchy", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_no_mutant_survives(mutant: Mutant, tmp_path: Path) -> None:
    """At least one C program fails."""
    assert not survives(mutant, "hierarchy", tmp_path), f"no test notices: {mutant}"

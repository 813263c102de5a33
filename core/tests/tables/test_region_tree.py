"""The virtual regions tree: its C tests in several builds, against the model, wrong on purpose, and
in instructions."""

from __future__ import annotations

import ctypes
import os
import random
from pathlib import Path

import pytest

from core.tests.kit.core_build import CORE, Build, CompileError, compile_c, run_program
from core.tests.mutants.mutate import Mutant
from model.region_tree import RegionTree, size_bytes
from tautochrone.code.bounds import bound_accesses, bound_instructions
from tautochrone.code.calls import Machine, core_code
from tautochrone.declarations import Library
from testing.golden import pinned

GOLDEN = Path(__file__).with_name("region_tree_golden.json")
INLINE, WORD = "region_tree_inline.h", "region_tree_word.h"
TREE = "region_tree.c"
SOURCES = ("tests/tables/test_region_tree.c", "tests/checks/check_region_tree.c", TREE)
RUN_SECONDS_MAX = 300
PAGES_LOG2_MAX = 20
OPERATIONS = ("find", "next", "is_start", "split", "union")
# (What goes wrong, file, old text, new text.)
ROWS = [
    ("empty word not announced", INLINE, "if (level == 0 && before != 0) {", "if (1) {"),
    ("announced one level only", INLINE, "(level == 0 && before != 0)", "(level == 1)"),
    ("union stops early", INLINE, "if (left != 0) {", "if (1) {"),
    ("union goes too far", INLINE, "if (left != 0) {", "if (left == 1) {"),
    ("find starts in front", INLINE, "(place >> 5) + 1)", "(place >> 5))"),
    ("find skips a word", INLINE, "(place >> 5) + 1)", "(place >> 5) + 2)"),
    ("find forgets the page", INLINE, "place + (int32_t)tau_bits_first(rest)", "place"),
    (
        "find takes the last bit",
        INLINE,
        "tau_bits_first(region_tree",
        "tau_bits_last(region_tree",
    ),
    ("next takes the first bit", INLINE, "tau_bits_last(word)", "tau_bits_first(word)"),
    (
        "next takes the page itself",
        INLINE,
        "word &= ~tau_bits_from(",
        "word &= ~tau_bits_above(",
    ),
    ("next gives up early", INLINE, "level == REGION_TREE_TOP || !", "level == 2 || !"),
    ("page the wrong way round", INLINE, "(int32_t)~page.number)};", "(int32_t)-page.number)};"),
    ("level 1 over level 2", WORD, "words_from(level + 1) - 1;", "words_from(level + 1) - 2;"),
    ("level 0 one off", WORD, "return tree->words + index;", "return tree->words + index - 1;"),
    ("levels with a gap", WORD, "words_from(level + 1) - 1;", "words_from(level + 1);"),
    ("words of half the pages", WORD, "(pages_log2 - shift)", "(pages_log2 - shift - 1)"),
    ("the top not announced", TREE, "level < TAU_REGION_TREE_LEVELS; level++) {", "0;) {"),
    ("memory left as it was", TREE, "words[i] = 0;", "words[i] |= 0;"),
    (
        "a word short accepted",
        TREE,
        "size_bytes < needed_bytes",
        "size_bytes + 4 < needed_bytes",
    ),
    ("odd memory accepted", TREE, "!memory_holds(memory, needed_bytes) || ", ""),
]
MUTANTS = [Mutant(name, file, old, new) for name, file, old, new in ROWS]


def program(build: Build, folder: Path, core: Path = CORE, extra: tuple[str, ...] = ()) -> Path:
    """The C tests of CORE, which may be a changed copy, compiled into FOLDER."""
    sources = [core / source for source in SOURCES]
    made = folder / "test_region_tree"
    return compile_c(build, sources, made, ["-I.", *extra], core.parent)


@pytest.mark.parametrize(
    ("build", "extra"),
    [
        (Build(), ()),
        (Build(32, optimize="-O1", sanitize=True), ("-DTAU_ASSERT_LEVEL=2",)),
        (Build(compiler="clang-14", optimize="-O1"), ("-DTAU_ASSERT_LEVEL=1",)),
        (Build(optimize="-Os"), ("-DTAU_BITS_SCAN=0",)),
        (Build(), ("-D__arm__", "-DTAU_BITS_SCAN=0")),
        (Build(), ("-DTAU_SPACE_PAGES_LOG2_MAX=21u",)),
        pytest.param(Build(), ("-DTAU_SPACE_PAGES_LOG2_MAX=26u",), marks=pytest.mark.slow),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_every_set_of_16_pages(build: Build, extra: tuple[str, ...], tmp_path: Path) -> None:
    """All 65,536 sets, in 23 placements, and random ones, in builds that differ in the code."""
    print(run_program(program(build, tmp_path, extra=extra), [], RUN_SECONDS_MAX))


def test_every_mutant_applies() -> None:
    """Each text is in the core exactly once, so that the slow test cannot rot unseen."""
    for mutant in MUTANTS:
        assert mutant.text()


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_no_mutant_survives(mutant: Mutant, tmp_path: Path) -> None:
    """The C tests fail for each wrong change, or the compiler sees it."""
    core = mutant.core(tmp_path)
    build = Build(32, optimize="-O1", sanitize=True)
    try:
        made = program(build, tmp_path, core)
    except CompileError:
        return
    with pytest.raises(AssertionError):
        run_program(made, [], RUN_SECONDS_MAX)


class NativeTree:
    """A compiled tree with the model's interface."""

    def __init__(self, library: Library, pages_log2: int) -> None:
        """A tree of 2^PAGES_LOG2 pages in memory of its own."""
        self.library = library
        self.page, self.tree = library.struct("tau_page"), library.struct("tau_region_tree")()
        needed = library.tau_region_tree_size_bytes(pages_log2)
        self.memory = ctypes.create_string_buffer(b"\xff" * needed, needed)
        made = library.tau_region_tree_init(self.tree, self.memory, needed, pages_log2)
        assert made == 0

    def find(self, page: int) -> int:
        """As the model's."""
        return self.library.tau_region_tree_find(self.tree, self.page(page)).number

    def next(self, page: int) -> int | None:
        """As the model's."""
        start = self.page()
        found = self.library.tau_region_tree_next(self.tree, self.page(page), start)
        return start.number if found else None

    def is_start(self, page: int) -> bool:
        """As the model's."""
        return self.library.tau_region_tree_is_start(self.tree, self.page(page))

    def split(self, page: int) -> None:
        """As the model's."""
        self.library.tau_region_tree_split(self.tree, self.page(page))

    def union(self, page: int) -> None:
        """As the model's."""
        self.library.tau_region_tree_union(self.tree, self.page(page))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The tree, compiled with asserts and invariants."""
    folder = tmp_path_factory.mktemp("region_tree")
    flags = [f"-I{CORE.parent}", "-DTAU_ASSERT_LEVEL=2", "-shared", "-fPIC"]
    path = compile_c(Build(), [CORE / "region_tree.c"], folder / "region_tree.so", flags)
    return Library(path)


@pytest.mark.parametrize("pages_log2", [1, 4, 5, 6, 10, 11, 15, 16, 20])
def test_random_operations_are_the_models(library: Library, pages_log2: int) -> None:
    """The compiled tree answers as model/region_tree.py does."""
    seed = os.environ.get("TAU_TEST_SEED", "1")
    print(f"seed {seed}")
    choose = random.Random(f"{seed} {pages_log2}")
    model, native = RegionTree(pages_log2), NativeTree(library, pages_log2)
    assert len(native.memory) == size_bytes(pages_log2)
    borders = [2**power + off for power in range(pages_log2) for off in (-1, 0, 1)]
    for _ in range(4000):
        near = choose.choice([*model.starts, *borders]) + choose.randint(-2, 2)
        page = choose.choice([near % model.pages, choose.randrange(model.pages)])
        assert native.find(page) == model.find(page)
        assert native.next(page) == model.next(page)
        assert native.is_start(page) == model.is_start(page)
        start = model.find(page)
        if page != start and len(model.starts) < 150:
            model.split(page)
            native.split(page)
        elif start != 0:
            model.union(start)
            native.union(start)


def longest_paths(isa: str) -> dict[str, dict[str, int]]:
    """Of each operation of the shipped code at 2^20 pages: the longest path and what the worst of
    many states costs, in instructions and memory accesses."""
    names = {verb: f"tau_region_tree_{verb}" for verb in OPERATIONS}
    keep = [*names.values(), "tau_region_tree_init"]
    image = core_code("region_tree", isa, ["core/region_tree.c"], keep=keep)
    seen = {verb: [0, 0] for verb in OPERATIONS}
    with Machine(image) as machine:
        tree, words = machine.reserve(8), machine.reserve(size_bytes(PAGES_LOG2_MAX))
        start = machine.reserve(4)

        def call(verb: str, page: int) -> int:
            arguments = (tree, page, start) if verb == "next" else (tree, page)
            done = machine.call(names[verb], *arguments)
            seen[verb][0] = max(seen[verb][0], done.instructions)
            seen[verb][1] = max(seen[verb][1], done.accesses)
            return done.result

        made = machine.call(
            "tau_region_tree_init", tree, words, size_bytes(PAGES_LOG2_MAX), PAGES_LOG2_MAX
        )
        assert made.result == 0
        last = 2**PAGES_LOG2_MAX - 1
        for page in (1, 31, 32, 1023, 1024, 32767, 32768, 65535, 700_001, last):
            for asked in (0, page - 1, page, last):
                expected = page if asked >= page else 0
                assert call("find", asked) == 0
                call("split", page)
                assert call("find", asked) == expected
                assert call("next", asked) == (asked < page)
                assert call("is_start", asked) == (asked in (0, page))
                call("union", page)
                call("next", asked)
    return {
        verb: {
            "bound_instructions": bound_instructions(image.elf, names[verb]),
            "max_instructions": seen[verb][0],
            "bound_accesses": bound_accesses(image.elf, names[verb]),
            "max_accesses": seen[verb][1],
        }
        for verb in OPERATIONS
    }


@pytest.mark.parametrize("isa", ["rv32", "rv32zbb"])
def test_instructions_are_pinned(isa: str) -> None:
    """One instruction more on the longest path fails; the header states the same numbers.

    After a wanted change: TAU_UPDATE_GOLDEN=1.
    """
    found = longest_paths(isa)
    assert found == pinned(GOLDEN, {isa: found})[isa]
    for verb, row in found.items():
        assert row["max_instructions"] <= row["bound_instructions"], verb
        assert row["max_accesses"] <= row["bound_accesses"], verb
    assert found["find"]["bound_instructions"] <= {"rv32": 120, "rv32zbb": 60}[isa]
    header = " ".join((CORE / "region_tree.h").read_text().replace("//", " ").split())
    for verb in ("find", "next", "is_start", "split", "union"):
        number = found[verb]["bound_instructions"]
        stated = f"at most {number}" if isa == "rv32" else f"{number} with zbb"
        place = header.index(f" tau_region_tree_{verb}(")
        assert stated in header[:place].rsplit(");", 1)[1].lower(), f"{verb}: {stated}"

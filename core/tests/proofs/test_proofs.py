"""The region tree and Lemma 1 are proved with CBMC on the shipped code, and the proofs can fail.

Fetches CBMC (cbmc.py), so all of it is slow. What `make check` has instead are the enumerations:
every set of 16 pages (test_region_tree.py) and every state of 4 pages (test_vspace_programs.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from core.tests.proofs.cbmc import ROOT, Cbmc, NoVerdict, Verdict, changed_core

pytestmark = pytest.mark.slow
HERE = Path(__file__).resolve().parent
SECONDS_MAX = 900
# Proof: (source, pages as a logarithm, arguments).
TREE_ARGUMENTS = ["--arrays-uf-always", "--unwind", "8"]
TREE = ("find", "next", "split", "union")
LEMMA = {"init": 4, "lookup": 4, "split": 4, "union": 4, "unmap": 4, "map": 3}
LEVEL, WORD = "private/pages/region_tree_inline.h", "private/pages/region_tree_word.h"
ENTRY, REGION = "private/pages/validity_inline.h", "private/pages/vspace_inline.h"
TREE_PROOF, LEMMA_PROOF = "tests/proofs/prove_region_tree.c", "tests/proofs/prove_validity.c"
# In core/FILE, OLD becomes NEW, and a proof fails: (defect, file, old, new, proof).
TREE_MUTANTS = [
    ("find starts in front", LEVEL, "(place >> 5) + 1)", "(place >> 5))", "find"),
    ("find skips a word", LEVEL, "(place >> 5) + 1)", "(place >> 5) + 2)", "find"),
    ("find takes the last bit", LEVEL, "tau_bits_first(reg", "tau_bits_last(reg", "find"),
    ("find goes on in the wrong word", LEVEL, "place >> 5), place)", "place >> 6), place)", "find"),
    ("next takes the first bit", LEVEL, "tau_bits_last(word)", "tau_bits_first(word)", "next"),
    ("next takes the page", LEVEL, "word &= ~tau_bits_from(", "word &= ~tau_bits_above(", "next"),
    ("next gives up", LEVEL, "level == REGION_TREE_TOP || !", "level == 2 || !", "next"),
    ("split not announced", LEVEL, "if (level == 0 && before != 0)", "if (level == 0)", "split"),
    (
        "split half announced",
        LEVEL,
        "if (level == 0 && before",
        "if (level == 2 || before",
        "split",
    ),
    (
        "split forgets others",
        LEVEL,
        "before | region_tree_bit(place)",
        "region_tree_bit(place)",
        "split",
    ),
    ("union not taken back", LEVEL, "if (left != 0) {", "if (level == 1 || left != 0) {", "union"),
    ("union takes too much back", LEVEL, "if (left != 0) {", "if (left == 1) {", "union"),
    ("union forgets others", LEVEL, "before ^ region_tree_bit(place)", "0", "union"),
    ("levels of half the size", WORD, "(pages_log2 - shift)", "(pages_log2 - shift - 1)", "find"),
    ("levels of half the size", WORD, "(pages_log2 - shift)", "(pages_log2 - shift - 1)", "union"),
    (
        "level 0 a word short",
        TREE_PROOF,
        "LEVEL_0_WORDS = 1 << 15",
        "LEVEL_0_WORDS = 32767",
        "find",
    ),
    (
        "level 1 a word short",
        TREE_PROOF,
        "LEVEL_1_WORDS = 1 << 10",
        "LEVEL_1_WORDS = 1023",
        "split",
    ),
    ("level 2 a word short", TREE_PROOF, "LEVEL_2_WORDS = 1 << 5", "LEVEL_2_WORDS = 31", "union"),
    (
        "shift too far in find",
        LEVEL,
        "word >> ((uint32_t)place & 31u)",
        "word >> (uint32_t)place",
        "find",
    ),
    (
        "shift too far in split",
        LEVEL,
        "mask((uint32_t)place & 31u)",
        "mask((uint32_t)place)",
        "split",
    ),
    (
        "shift too far in next",
        LEVEL,
        "~tau_bits_from((uint32_t)place & 31u)",
        "~tau_bits_from((uint32_t)place)",
        "next",
    ),
    ("zero has no first bit", LEVEL, "level == REGION_TREE_TOP || rest != 0", "level <= 5", "find"),
    (
        "page 0 need not start",
        TREE_PROOF,
        "assume_path(&tree, (struct tau_page){0});\n    assume_path(&tree, other);",
        "assume_path(&tree, other);",
        "find",
    ),
    (
        "other path not assumed",
        TREE_PROOF,
        "assume_path(&tree, other);\n    struct",
        "struct",
        "next",
    ),
]
LEMMA_MUTANTS = [
    (
        "garbage trusted",
        ENTRY,
        " && place <= sp && validity->stacks[place].page == page;",
        " && place <= sp;",
        "lookup",
    ),
    (
        "helper above the stack",
        ENTRY,
        "place && place <= sp && val",
        "place && place <= sp + 1 && val",
        "lookup",
    ),
    (
        "helper below the stack",
        ENTRY,
        "return start <= place && place <= sp &&",
        "return place <= sp &&",
        "lookup",
    ),
    ("cache may be 0", ENTRY, "start == 0 || start > page", "start > page", "lookup"),
    ("cache may lie behind", ENTRY, "start == 0 || start > page", "start == 0", "lookup"),
    (
        "sp of others not empty",
        LEMMA_PROOF,
        "(!is_start(i) || is_free(i)) &&",
        "is_free(i) &&",
        "lookup",
    ),
    ("cache not renewed", ENTRY, "validity->regions[page].cache = start;", "", "map"),
    ("helper not written", ENTRY, "validity->stacks[page].helper = place;", "", "map"),
    ("stack not written", ENTRY, "validity->stacks[place].page = page;", "", "map"),
    ("stack not higher", ENTRY, "top = top + 1;", "top = top;", "map"),
    ("rights not written", ENTRY, "frame | (top & TAU_RIGHTS)", "frame", "map"),
    ("stack not emptied", REGION, "(start - 1) | flags", "start | flags", "unmap"),
    (
        "sp not written",
        REGION,
        "(start - 1) | flags",
        "validity_sp(space->validity.regions[start].top) | flags",
        "unmap",
    ),
    ("a mapped region cut", LEMMA_PROOF, "__CPROVER_assume(is_empty(find(page)));", "", "split"),
    (
        "mapped regions united",
        LEMMA_PROOF,
        "__CPROVER_assume(is_free(start) && is_free(find(start - 1)));",
        "",
        "union",
    ),
]


def prove_tree(cbmc: Cbmc, name: str, core: Path, arguments: tuple[str, ...] = ()) -> Verdict:
    """One proof of the region tree, of the sources in CORE, for every size from 2 to 2^20 pages."""
    more = [*TREE_ARGUMENTS, f"-I{core.parent}", *arguments]
    return cbmc.prove(core / TREE_PROOF, f"prove_{name}", more, SECONDS_MAX)


def prove_lemma(
    cbmc: Cbmc, name: str, core: Path, arguments: tuple[str, ...] = (), pages_log2: int = 0
) -> Verdict:
    """One proof of Lemma 1, of the sources in CORE."""
    log2 = pages_log2 or LEMMA[name]
    sizes = [f"-DPROOF_PAGES_LOG2={log2}", f"-DTAU_SPACE_PAGES_LOG2_MAX={log2}u"]
    more = ["--unwind", str(2**log2 + 1), f"-I{core.parent}", *sizes, *arguments]
    return cbmc.prove(core / LEMMA_PROOF, f"prove_{name}", more, SECONDS_MAX)


@pytest.mark.parametrize("scan", [1, 0])
@pytest.mark.parametrize("name", TREE)
def test_region_tree_is_proved(cbmc: Cbmc, name: str, scan: int) -> None:
    """For any tree of 2 to 2^20 pages and any page, with bit scans by instruction and by table.

    [P0-17, P0-18]
    """
    verdict = prove_tree(cbmc, name, ROOT / "core", (f"-DTAU_BITS_SCAN={scan}",))
    assert verdict.holds, verdict.failed
    print(f"{name}: {verdict.goals} goals")


@pytest.mark.parametrize("name", LEMMA)
def test_lemma_1_is_proved(cbmc: Cbmc, name: str) -> None:
    """With a stale cache, on hostile memory, for any history. [P0-25, P0-26]"""
    verdict = prove_lemma(cbmc, name, ROOT / "core")
    assert verdict.holds, verdict.failed
    print(f"{name}: {verdict.goals} goals, {2 ** LEMMA[name]} pages")


@pytest.mark.parametrize("name", [*TREE, *(f"lemma {name}" for name in LEMMA)])
def test_no_proof_is_empty(cbmc: Cbmc, name: str) -> None:
    """The assumptions leave states: a false assert at the end fails, and only that."""
    more = ("-DPROOF_REACHED",)
    if name.startswith("lemma "):
        verdict = prove_lemma(cbmc, name.removeprefix("lemma "), ROOT / "core", more, 3)
    else:
        verdict = prove_tree(cbmc, name, ROOT / "core", more)
    assert len(verdict.failed) == 1, verdict.failed
    assert verdict.failed[0].endswith("reached")


@pytest.mark.parametrize("mutant", TREE_MUTANTS, ids=lambda row: f"{row[0]} {row[4]}")
def test_no_tree_mutant_is_proved(cbmc: Cbmc, mutant: tuple[str, ...], tmp_path: Path) -> None:
    """Wrong logic, sizes that are too small, and what C leaves undefined."""
    verdict = prove_tree(cbmc, mutant[4], changed_core(tmp_path, *mutant[1:4]))
    assert verdict.failed, "proved in spite of the change"
    print(verdict.failed)


@pytest.mark.parametrize("mutant", LEMMA_MUTANTS, ids=lambda row: f"{row[0]} {row[4]}")
def test_no_lemma_mutant_is_proved(cbmc: Cbmc, mutant: tuple[str, ...], tmp_path: Path) -> None:
    """Each condition of the lemma left out, and each store of the operations."""
    verdict = prove_lemma(cbmc, mutant[4], changed_core(tmp_path, *mutant[1:4]), (), 3)
    assert verdict.failed, "proved in spite of the change"
    print(verdict.failed)


def test_no_verdict_is_not_a_success(cbmc: Cbmc, tmp_path: Path) -> None:
    """A source that is not C, or a missing function, proves nothing."""
    source = tmp_path / "broken.c"
    source.write_text("void prove_x(void) { nothing }\n")
    with pytest.raises(NoVerdict):
        cbmc.prove(source, "prove_x", [], SECONDS_MAX)
    source.write_text("void prove_x(void) { }\n")
    with pytest.raises(NoVerdict):
        cbmc.prove(source, "prove_y", [], SECONDS_MAX)

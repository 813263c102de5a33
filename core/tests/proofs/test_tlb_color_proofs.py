"""TLB coloring is proved with CBMC on the shipped code: no page outside its owner's sets.

Fetches CBMC (cbmc.py), so all of it is slow. What `make check` has instead is an enumeration: every
geometry of two small arrays and directory entries (explore_tlb_color.c).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from core.tests.proofs.cbmc import ROOT, Cbmc, Verdict, changed_core

pytestmark = pytest.mark.slow
SECONDS_MAX = 900
PROOF, FILE = "tests/proofs/prove_tlb_color.c", "tlb_color.c"


@dataclass(frozen=True)
class Proof:
    """Its sizes, and whether proved contracts replace tau_tlb_color_check and the index."""

    unwind: int
    is_modular: bool = False
    arrays: int = 2
    window_pages_log2: int = 2
    page_log2: int = 12
    more: tuple[str, ...] = ()


PROOFS = {
    "check": Proof(4),
    "index": Proof(6, more=("--unwindset", "prove_index.0:33,prove_index.1:4")),
    "pages": Proof(6, is_modular=True),
    "ways": Proof(6, is_modular=True, arrays=1),
    "runs": Proof(9, window_pages_log2=3),
    "free": Proof(9, window_pages_log2=3),
}
CALLS = {"tau_tlb_color_check": "any_status", "tlb_color_index_of": "any_index"}
# OLD becomes NEW, and a proof fails: (defect, old, new, proof).
MUTANTS = [
    ("an index bit is wrong", "& structure->rows[bit])\n", "& structure->rows[0])\n",
     "index"),
    ("constant left out", "uint32_t index = structure->constant;", "uint32_t index = 0;", "index"),
    ("parity of half the bits", "ADDRESS_BITS / 2", "ADDRESS_BITS / 8 / 2", "index"),
    ("directories ignored", "? structure->page_log2 > page_log2", "? page_log2 > 99", "pages"),
    ("pages ignored", "? structure->page_log2 == page_log2", "? page_log2 > 99", "pages"),
    ("who owns nothing owns all", "sets->owned != NULL && (sets", "sets->owned == NULL || (sets",
     "pages"),
    ("another set", ">> index % 32 & 1u) != 0;", ">> (index ^ 1) % 32 & 1u) != 0;", "pages"),
    ("last page handed out", "pages_of(search->window) - 1;", "pages_of(search->window);", "pages"),
    ("one page too few", "            if (count == 0) {\n                return page + 1;",
     "            if (count == 1) {\n                return page + 1;", "pages"),
    ("memory as it was", "        pages[page / 32] = 0;\n", "", "pages"),
    ("two owners of a set", "(one->owned[word] & other->owned[word]) != 0", "word == 12345",
     "check"),
    ("no group is a group", "(own->group != 0 && own->group == other->group)",
     "own->group == other->group", "check"),
    ("groups not compared", "(own->group != 0 && own->group == other->group)",
     "own->group != 0", "check"),
    ("sets beyond the array", "owned[0] >> sets_count != 0", "owned[0] == 12345", "check"),
    ("windows not compared", "one->start >> larger != other->start >> larger", "larger < 99",
     "check"),
    ("windows not aligned", "(window->start & (((uintptr_t)1 << size_log2) - 1)) != 0", "false",
     "check"),
    ("constant too large", "own->constant >= sets_count ||", "", "check"),
    ("dependent rows accepted", "row ^= basis[known];", "row ^= 0;", "check"),
    ("bits inside a page accepted", "(own->rows[bit] & inside) != 0", "inside == 12345", "check"),
    ("no safe ways accepted", "array->safe_ways == 0 ||", "", "check"),
    ("two of a kind accepted", "other->array == own->array && other->role",
     "other->array == 99 && other->role", "check"),
    ("windows of any pages", "geometry->structures[i].role == TAU_TLB_COLOR_DATA &&", "", "check"),
    ("one way too many", "count > array->safe_ways - sets->taken",
     "count > array->safe_ways - sets->taken + 1", "ways"),
    ("other entries forgotten", "count > array->safe_ways - sets->taken",
     "count > array->safe_ways", "ways"),
    ("entries of another set", "structure, address) == index;", "structure, address) != index;",
     "ways"),
    ("gaps accepted", "<< page % 32) < 0;", "<< page % 32) < 1;", "free"),
    ("header in a gap", "window->start + TLB_COLOR_WORD_BYTES,", "window->start,", "pages"),
    ("span not looked at", "TAU_ON_LONGEST_PATH(offset < heap->span_bytes) &&", "", "free"),
    ("first page left out", "run->size_bytes == 0 ? 0 :", "run->size_bytes == 0 ? page_bytes :",
     "runs"),
]  # fmt: skip


def prove(
    cbmc: Cbmc, name: str, core: Path, folder: Path, arguments: tuple[str, ...] = ()
) -> Verdict:
    """One proof of the sources in CORE."""
    facts = PROOFS[name]
    sizes = {
        "ARRAYS": facts.arrays,
        "PAGES_LOG2": facts.window_pages_log2,
        "PAGE_LOG2": facts.page_log2,
    }
    defines = [f"-DPROOF_{key}={value}" for key, value in sizes.items()]
    compiling = [f"-I{core.parent}", "-DTAU_WORD_BITS=32", *defines, *arguments]
    more = ["--unwind", str(facts.unwind), *facts.more]
    calls = CALLS if facts.is_modular else {}
    program = cbmc.replaced(core / PROOF, compiling, calls, folder / "program")
    return cbmc.prove(program, f"prove_{name}", more, SECONDS_MAX)


@pytest.mark.parametrize("name", PROOFS)
def test_coloring_is_proved(cbmc: Cbmc, name: str, tmp_path: Path) -> None:
    verdict = prove(cbmc, name, ROOT / "core", tmp_path)
    assert verdict.holds, verdict.failed
    print(f"{name}: {verdict.goals} goals")


@pytest.mark.parametrize("name", PROOFS)
def test_no_proof_is_empty(cbmc: Cbmc, name: str, tmp_path: Path) -> None:
    """The assumptions leave states: a false assert at the end fails, and only that."""
    verdict = prove(cbmc, name, ROOT / "core", tmp_path, ("-DPROOF_REACHED",))
    assert len(verdict.failed) == 1, verdict.failed
    assert verdict.failed[0].endswith("reached")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda row: f"{row[0]} {row[3]}")
def test_no_mutant_is_proved(cbmc: Cbmc, mutant: tuple[str, ...], tmp_path: Path) -> None:
    """The ablations among them: index, directories, owners, ways."""
    core = changed_core(tmp_path, FILE, *mutant[1:3])
    verdict = prove(cbmc, mutant[3], core, tmp_path)
    assert verdict.failed, "proved in spite of the change"
    print(verdict.failed)

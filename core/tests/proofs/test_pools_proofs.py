"""Pools for bands of sizes are proved with CBMC on the shipped code: within the limits no call
fails, in any state of a small heap, so after any history.

Fetches CBMC (cbmc.py), so all of it is slow. What `make check` has instead are random programs
against an oracle and the model (calls_pools.c).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.tests.kit.core_build import Build, build_library
from core.tests.proofs.cbmc import Cbmc, Verdict, changed_core
from tautochrone.declarations import Library

pytestmark = pytest.mark.slow
SECONDS_MAX = 1800
PROOF = "tests/proofs/prove_pools.c"
PROOFS = ("init", "malloc", "free", "realloc")
# (Largest size, limit). The pool of 16 bytes has a gap before it. Most mutants are refuted on the
# smaller heap.
BANDS = ((8, 2), (16, 1), (24, 1))
FEW_BANDS = ((8, 2), (24, 1))
# A step of the owner table holds blocks of both pools.
SHARED_STEP = ((16, 3), (40, 1))
ALIGNMENT = 64
# Calls of functions that compute addresses as numbers, which CBMC does not follow.
REPLACED = {
    "tau_link_follow": "place_at_link",
    "tau_link_to": "link_to_place",
    "budget_fields_of": "fields_before",
    "budget_class_at": "class_at_index",
    "tau_bits_hold": "same_number",
}
UNCHANGED = '#include "core/pools.h"'
TABLE, BUCKET = "private/heap/budget_table.h", "private/heap/budget_bucket.h"
SIZES, LAYOUT = "private/heap/pools_table.h", "private/heap/budget_layout.h"
# In core/FILE, OLD becomes NEW, and a proof fails: (defect, file, old, new, proof).
MUTANTS = [
    ("blocks overlap", LAYOUT, "bucket * pair->count;\n        if (end >",
     "bucket * (pair->count - 1);\n        if (end >", "init"),
    ("pools are not aligned", LAYOUT, "(end + unit - 1) & ~(unit - 1)", "end & ~(unit & 0)",
     "init"),
    ("last block is never served", BUCKET, "if (index == class->count) {",
     "if (index + 1 == class->count) {", "malloc"),
    ("one block too many", BUCKET, "if (index == class->count) {", "if (index > class->count) {",
     "malloc"),
    ("list is not shortened", BUCKET, "class->free = bucket[0];", "", "malloc"),
    ("fresh blocks are served again", BUCKET, "class->fresh_count = index + 1;", "", "malloc"),
    ("block is not marked", BUCKET, "|= (uint32_t)1 << (index & 31u);", "|= 0;", "malloc"),
    ("largest size of a band", SIZES, "size_bytes > class->bucket_bytes",
     "size_bytes >= class->bucket_bytes", "malloc"),
    ("refusal is not counted", "pools.c", "*counter != UINT32_MAX ? 1 : 0", "*counter ? 1 : 0",
     "malloc"),
    ("freed block is lost", "budget.c", "class->free = tau_link_to(heap, bucket);", "", "free"),
    ("list ends at the freed block", "budget.c", "bucket[0] = class->free;", "bucket[0] = 0;",
     "free"),
    ("use is not counted down", "budget.c", "class->used_count--;", "", "free"),
    ("double free is obeyed", "budget.c", "if (flipped > *word) {", "if (flipped == *word) {",
     "free"),
    ("inside of a block is freed", "budget.c", "if (index * class->bucket_bytes != offset) {",
     "if (index * class->bucket_bytes > offset) {", "free"),
    ("owner is the pool behind", TABLE, "class ++;", ";", "free"),
    ("smaller object stays", "pools.c", "pointer, offset) == class) {",
     "pointer, offset)->bucket_bytes >= size_bytes) {", "realloc"),
    ("old block stays in use", "pools.c",
     "size_bytes);\n        (void)tau_pools_free(heap, pointer);", "size_bytes);", "realloc"),
]  # fmt: skip


def image(core: Path, folder: Path, bands: Sequence[tuple[int, int]]) -> list[str]:
    """What CORE's tau_pools_init writes for BANDS, as definitions of a proof."""
    library = Library(build_library(Build(32, 1), folder, core))
    plan = (ctypes.c_uint32 * (2 * len(bands)))(*(number for band in bands for number in band))
    address = ctypes.addressof(plan)
    size = library.tau_pools_size(address, len(bands), ALIGNMENT, 0)
    space = ctypes.create_string_buffer(size + ALIGNMENT)
    memory = ctypes.addressof(space) + -ctypes.addressof(space) % ALIGNMENT
    heap = ctypes.c_void_p()
    arguments = (memory, size, address, len(bands), ALIGNMENT)
    assert library.tau_pools_init(ctypes.addressof(heap), *arguments) == 0
    words = (ctypes.c_uint32 * (size // 4)).from_address(memory)
    return [
        f"-DPROOF_IMAGE={','.join(f'{word}u' for word in words)}",
        f"-DPROOF_PLAN={','.join(f'{{{size_bytes}u,{limit}u}}' for size_bytes, limit in bands)}",
        f"-DPROOF_WORDS={len(words)}",
        f"-DPROOF_BANDS={len(bands)}",
        f"-DPROOF_HANDLE={heap.value - memory}",
    ]


def prove(
    cbmc: Cbmc,
    name: str,
    folder: Path,
    bands: Sequence[tuple[int, int]] = BANDS,
    change: tuple[str, str, str] = ("pools.c", *2 * (UNCHANGED,)),
    arguments: tuple[str, ...] = (),
) -> Verdict:
    """One proof of the core with a CHANGE: a file, its old text, its new text."""
    core = changed_core(folder, *change)
    made = image(core, folder, bands)
    # CBMC takes the length of an array at its word, and this one goes on after its structure.
    table = core / TABLE
    assert table.read_text().count("uint8_t owner[1];") == 1
    length = "owner[4 * PROOF_WORDS - PROOF_HANDLE]"
    table.write_text(table.read_text().replace("owner[1]", length))
    flags = ["-DTAU_WORD_BITS=32", "-DTAU_CHECK_LEVEL=1", f"-I{folder}", *made, *arguments]
    program = cbmc.replaced(core / PROOF, flags, REPLACED, folder / "program")
    return cbmc.prove(program, f"prove_{name}", ["--unwind", "5"], SECONDS_MAX)


@pytest.mark.parametrize(
    ("name", "bands"),
    [*((name, BANDS) for name in PROOFS), ("init", SHARED_STEP), ("free", SHARED_STEP)],
)
def test_pools_are_proved(
    cbmc: Cbmc, name: str, bands: Sequence[tuple[int, int]], tmp_path: Path
) -> None:
    verdict = prove(cbmc, name, tmp_path, bands)
    assert verdict.holds, verdict.failed
    print(f"{name}: {verdict.goals} goals")


@pytest.mark.parametrize("name", PROOFS)
def test_no_proof_is_empty(cbmc: Cbmc, name: str, tmp_path: Path) -> None:
    """The assumptions leave states: a false assert at the end fails, and only that."""
    verdict = prove(cbmc, name, tmp_path, FEW_BANDS, arguments=("-DPROOF_REACHED",))
    assert len(verdict.failed) == 1, verdict.failed
    assert verdict.failed[0].endswith("reached")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda row: f"{row[0]} {row[4]}")
def test_no_mutant_is_proved(cbmc: Cbmc, mutant: tuple[str, ...], tmp_path: Path) -> None:
    _, file, old, new, name = mutant
    bands = BANDS if name == "init" else SHARED_STEP if file == TABLE else FEW_BANDS
    verdict = prove(cbmc, name, tmp_path, bands, (file, old, new))
    assert verdict.failed, "proved in spite of the change"
    print(verdict.failed)

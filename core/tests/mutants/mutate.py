"""Small wrong changes of the core, each of which the tests must notice.

`survives` builds the tests of a mutant's mechanism on a changed copy of the core and runs them
until one fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, NamedTuple

from core.tests.kit.core_build import CORE, Build, CompileError, build_program, run_program
from core.tests.mutants.mutants_pages import PAGE_MUTANTS
from testing import mutants

RUN_SECONDS_MAX = 60  # it is to end early
TLSF_PROGRAMS = ["test_tlsf", "test_tlsf_misuse", "test_tlsf_pools", "fuzz_tlsf", "test_threads"]
TLSF_PROGRAMS += ["test_hooks", "test_budget"]
BUDGET_PROGRAMS = ["test_budget", "test_budget_plans", "fuzz_budget"]
SPACE_PROGRAMS = ["test_frames", "test_validity", "test_vspace", "fuzz_vspace", "explore_vspace"]
HEAP_PROGRAMS = ["test_page_heap", "test_break_heap", "fuzz_forget", "fuzz_page_heap"]
# The programs whose mechanism a file begins with; all others are TLSF's.
PROGRAMS = {
    "budget": BUDGET_PROGRAMS,
    "frames": SPACE_PROGRAMS,
    "validity": SPACE_PROGRAMS,
    "vspace": SPACE_PROGRAMS + HEAP_PROGRAMS,
    "page_heap": HEAP_PROGRAMS,
    "break_heap": HEAP_PROGRAMS,
    "paged": HEAP_PROGRAMS,
}
ARGUMENTS = {"fuzz_page_heap": ["1", "8000"], "explore_vspace": []}
EXTRA = {"fuzz_vspace": ("-DTAU_PAGE_LOG2=6",)}
# Level 2 has every check, and the sanitizers see what only reads too far.
BUILD = Build(32, 2, 0, "-O1", "gcc", sanitize=True)


@dataclass(frozen=True)
class Mutant(mutants.Mutant):
    """In the core's FILE, named without its folder, OLD becomes NEW."""

    side: ClassVar[str] = "core"

    @property
    def path(self) -> str:
        """The file's path in the repository; tests are not looked through."""
        found = [each for each in CORE.rglob(self.file) if "tests" not in each.parts]
        found += (mutants.ROOT / "peers/conventional").glob(self.file)
        assert len(found) == 1, f"{self.name}: {self.file} is {len(found)} files"
        return str(found[0].relative_to(mutants.ROOT))

    def core(self, folder: Path) -> Path:
        """A copy of the folder core in FOLDER with the change. Raises StaleMutant."""
        return self.applied(folder, ["core", "peers"]) / "core"


MUTANTS = [
    Mutant(
        "empty list stays marked",
        "tlsf_list.h",
        "[index] ^ tau_bits_mask(bit);",
        "[index] ^ (tau_bits_mask(bit) & 0);",
    ),
    Mutant(
        "summary cleared too early",
        "tlsf_list.h",
        "    if (TAU_ON_LONGEST_PATH(left == 0)) {",
        "    if (left != 0) {",
    ),
    Mutant("footer with a flag", "tlsf_list.h", "size)[-2] = size;", "size)[-2] = header;"),
    Mutant("back link lost", "tlsf_list.h", "d[1] = tlsf_link_to(heap, head);", "d[1] = 0;"),
    Mutant(
        "second in list not told",
        "tlsf_list.h",
        "tlsf_at(heap, next)[1] = tlsf_link_to(heap, payload);",
        "(void)next;",
    ),
    Mutant(
        "summary not set",
        "tlsf_list.h",
        "tlsf_fields_of(heap)->summary |= tau_bits_mask(class >> 5);",
        "(void)0;",
    ),
    Mutant(
        "unlinked from the middle",
        "tlsf_list.h",
        "tlsf_at(heap, next)[1] = back;\n    }\n    return",
        "(void)back;\n    }\n    return",
    ),
    Mutant(
        "malloc believes back",
        "tlsf_list.h",
        "|| payload[1] != tlsf_link_to(heap, head))",
        "|| payload[1] == 1)",
    ),
    Mutant(
        "first neighbor not listed again",
        "tlsf_merge.h",
        "*slot = tlsf_link_to(heap, behind);",
        "(void)slot;",
    ),
    Mutant(
        "list of the first neighbor stays empty",
        "tlsf_merge.h",
        "heap->bitmap[class >> 5] |= tau_bits_mask((unsigned)class & 31u);",
        "(void)0;",
    ),
    Mutant(
        "summary of the first neighbor stays empty",
        "tlsf_merge.h",
        "tlsf_fields_of(heap)->summary |= tau_bits_mask((unsigned)class >> 5);",
        "(void)0;",
    ),
    Mutant(
        "misuse told under the lock",
        "tlsf_merge.h",
        "    TAU_PORT_UNLOCK(heap);\n    TAU_PORT_MISUSE(heap, pointer, TAU_OVERWRITTEN);",
        "    TAU_PORT_MISUSE(heap, pointer, TAU_OVERWRITTEN);\n    TAU_PORT_UNLOCK(heap);",
    ),
    Mutant(
        "neighbor not listed again on pages",
        "page_heap.c",
        "unmerged(blocks, block, pointer, merged.size != 0)",
        "unmerged(blocks, block, pointer, false)",
    ),
    Mutant(
        "highest class never emptied",
        "tlsf_list.h",
        "        if (TAU_ON_LONGEST_PATH(class < tlsf_fields_of(heap)->classes))",
        "        if (class + 1 < tlsf_fields_of(heap)->classes)",
    ),
    Mutant(
        "probe for class starts only",
        "tlsf_list.h",
        "(leading << shift != key)",
        "(leading << shift == key)",
    ),
    Mutant(
        "probe refuses an exact fit",
        "tlsf_list.h",
        "tlsf_has_room(payload[-1], size)",
        "tlsf_has_room(payload[-1], size + TAU_ALIGNMENT)",
    ),
    Mutant("search from the probed class", "tlsf_list.h", "        class += 1;\n", ""),
    Mutant(
        "same word searched again",
        "tlsf_list.h",
        "tau_bits_above(index)",
        "tau_bits_from(index)",
    ),
    Mutant("rest of half a block", "tlsf_list.h", "key_of(rest) > 0", "key_of(rest) >= 0"),
    Mutant(
        "whole block taken silently",
        "tlsf_list.h",
        "tlsf_after(payload, header - TLSF_FREE)[-1] &= ~TLSF_PREVIOUS_FREE;",
        "(void)0;",
    ),
    Mutant(
        "peak never noted",
        "tlsf_list.h",
        "(heap)->peak_used_bytes)) {",
        "(heap)->used_bytes)) {",
    ),
    Mutant("header not counted", "tlsf_request.h", "+ TLSF_WORD_BYTES +", "+"),
    Mutant(
        "refusal not counted",
        "tlsf_request.h",
        "tlsf_fields_of(heap)->out_of_memory_count++;",
        "(void)0;",
    ),
    Mutant(
        "free not told to the next block",
        "tlsf_merge.h",
        "merged.size += used.next_size;\n    } else {\n        next[-1] |= TLSF_PREVIOUS_FREE;",
        "merged.size += used.next_size;",
    ),
    Mutant(
        "previous block's bytes lost",
        "tlsf_merge.h",
        "merged.size += used.previous_size;",
        "(void)0;",
    ),
    Mutant("shrunk block keeps its size", "tlsf.c", "payload[-1] -= count;", "(void)0;"),
    Mutant(
        "pool of twice the size",
        "tlsf.c",
        "row_bytes > tlsf_fields_of(heap)->block_max_bytes",
        "row_bytes > 2 * tlsf_fields_of(heap)->block_max_bytes",
    ),
    Mutant(
        "touching pools refused",
        "tlsf.c",
        "row.memory < range->end",
        "row.memory <= range->end",
    ),
    Mutant(
        "pools below are foreign",
        "tlsf.c",
        "(uintptr_t)first < lowest ? (uintptr_t)first : lowest",
        "lowest",
    ),
    Mutant(
        "gap of one unit",
        "tlsf.c",
        "(uintptr_t)payload - (uintptr_t)found == TAU_ALIGNMENT",
        "(uintptr_t)payload == (uintptr_t)found + 1",
    ),
    Mutant("gap not told", "tlsf.c", "flags |= TLSF_PREVIOUS_FREE;", "(void)0;"),
    Mutant("alignment forgotten", "tlsf.c", "kept)[-2] = (tau_word)alignment;", "kept)[-2] = 0;"),
    Mutant("tail of one unit", "tlsf.c", "tail != 0 && room != old", "tail != 0"),
    Mutant(
        "realloc loses the alignment",
        "tlsf.c",
        "((uintptr_t)tlsf_before(payload, used.previous_size) & (alignment - 1)) == 0",
        "used.previous_size > 0",
    ),
    Mutant("shrinking not counted", "tlsf.c", "->used_bytes -= tail;", "->used_bytes -= 0;"),
    Mutant(
        "payload moved under the lock",
        "tlsf.c",
        "TAU_PORT_UNLOCK(heap);\n        TAU_PORT_MOVE(result, payload, used_bytes);\n"
        "        TAU_PORT_LOCK(heap);",
        "TAU_PORT_MOVE(result, payload, used_bytes);",
    ),
    Mutant(
        "last byte not copied",
        "tlsf.c",
        "                        : tau_tlsf_malloc(heap, size_bytes);\n    if (result != NULL) {\n"
        "        TAU_PORT_MOVE(result, pointer, old_bytes);",
        "                        : tau_tlsf_malloc(heap, size_bytes);\n    if (result != NULL) {\n"
        "        TAU_PORT_MOVE(result, pointer, old_bytes - 1);",
    ),
    Mutant("block beyond the pools", "tlsf_check.h", "used->size > room", "used->size > 2 * room"),
    Mutant(
        "next block's flag believed",
        "tlsf_check.h",
        "(next[-1] & (TLSF_FREE | TLSF_PREVIOUS_FREE)) != 0",
        "(next[-1] & TLSF_FREE) != 0",
    ),
    Mutant(
        "next footer believed",
        "tlsf_check.h",
        "tlsf_after(next, next_size)[-2] != next_size",
        "tlsf_after(next, next_size)[-2] == 1",
    ),
    Mutant("previous block believed", "tlsf_check.h", "[-1] != footer + TLSF_FREE", "[-1] == 1"),
    Mutant(
        "canary believed",
        "tlsf_check.h",
        "*used->canary == tlsf_canary_for(heap, payload)",
        "tlsf_canary_for(heap, payload) != 1",
    ),
    Mutant("malloc believes a footer", "tlsf_request.h", "[-2] + TLSF_FREE == header", "[-2] != 1"),
    Mutant(
        "malloc believes a link",
        "tlsf_check.h",
        "tlsf_at(heap, next)[1] == tlsf_link_to(heap, payload)",
        "tlsf_at(heap, next)[1] != tlsf_link_to(heap, payload) + 1",
    ),
    Mutant(
        "look without the lock",
        "tlsf.c",
        "    TAU_PORT_LOCK(tlsf_lock_of(heap));\n"
        "    const enum tau_status status = tau_tlsf_check_locked(heap, pointer);\n"
        "    TAU_PORT_UNLOCK(tlsf_lock_of(heap));\n",
        "    const enum tau_status status = tau_tlsf_check_locked(heap, pointer);\n",
    ),
    Mutant("list of buckets cut", "budget.c", "class->free = bucket[0];", "class->free = 0;"),
    Mutant("bucket left out", "budget.c", "fresh_count = index + 1;", "fresh_count = index + 2;"),
    Mutant(
        "fresh bucket taken for freed",
        "budget.c",
        "index < class->fresh_count ? TAU_DOUBLE_FREE : TAU_FOREIGN_POINTER",
        "TAU_DOUBLE_FREE",
    ),
    Mutant("freed bucket still counted", "budget.c", "class->used_count--;", "(void)0;"),
    Mutant(
        "full bucket moved",
        "budget.c",
        "is_kept = size_bytes <= class->bucket_bytes;",
        "is_kept = size_bytes < class->bucket_bytes;",
    ),
    Mutant(
        "alignment lost to a bucket",
        "tlsf.c",
        "if ((((tau_word *)pointer)[-1] & TLSF_ALIGNED) != 0) {",
        "if (*copied != 0) {",
    ),
    Mutant(
        "border given away",
        "budget_table.h",
        "(uintptr_t)pointer >= ",
        "(uintptr_t)pointer > ",
    ),
    Mutant(
        "area too short",
        "budget_table.h",
        "*offset < budget_fields_of(heap)->dedicated_bytes",
        "*offset + TAU_ALIGNMENT < budget_fields_of(heap)->dedicated_bytes",
    ),
    Mutant("empty region accepted", "budget_layout.h", "added->count == 0)", "pair > 99)"),
    *(Mutant(*row) for row in PAGE_MUTANTS),
]


class Program(NamedTuple):
    """A C test, how it is built, and its arguments."""

    build: Build
    name: str
    arguments: list[str]
    extra: tuple[str, ...] = ()


def passes(programs: Iterable[Program], core: Path, folder: Path) -> bool:
    """Whether all PROGRAMS pass on CORE, built in FOLDER. Raises CompileError."""
    for each in programs:
        program = build_program(each.build, each.name, folder, core, each.extra)
        try:
            run_program(program, each.arguments, RUN_SECONDS_MAX)
        except AssertionError:
            return False
    return True


def is_noticed(mutant: Mutant, programs: Iterable[Program], folder: Path) -> bool:
    """Whether one of PROGRAMS fails for MUTANT, or the compiler sees it. Raises StaleMutant."""
    core = mutant.core(folder)
    try:
        return not passes(programs, core, folder)
    except CompileError:
        return True


def survives(mutant: Mutant, folder: Path) -> bool:
    """Whether all C tests of the mechanism pass in spite of MUTANT.

    Raises StaleMutant, or CompileError if the change is no C.
    """
    file = Path(mutant.file).name
    found = [programs for start, programs in PROGRAMS.items() if file.startswith(start)]
    programs = []
    for name in found[0] if found else TLSF_PROGRAMS:
        plain = "explore" in name or "threads" in name
        build = replace(BUILD, sanitize=False, optimize="-O2") if plain else BUILD
        arguments = ARGUMENTS.get(name, ["1", "20000"] if "fuzz" in name else [])
        programs.append(Program(build, name, arguments, EXTRA.get(name, ())))
    return passes(programs, mutant.core(folder), folder)

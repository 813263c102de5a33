"""Small wrong changes of TLB coloring: (what goes wrong, old text, new text)."""

from __future__ import annotations

from core.tests.mutants.mutate import Mutant

ROWS = [
    ("parity of half the bits", "TLB_COLOR_ADDRESS_BITS / 2", "TLB_COLOR_ADDRESS_BITS / 8 / 2"),
    ("constant left out", "uint32_t index = structure->constant;", "uint32_t index = 0;"),
    ("another set", ">> index % 32 & 1u) != 0;", ">> (index ^ 1) % 32 & 1u) != 0;"),
    ("only the first sets", "sets->owned[index / 32]", "sets->owned[index / 64]"),
    ("who owns nothing owns all", "sets->owned != NULL && (sets", "sets->owned == NULL || (sets"),
    ("directories ignored", "? structure->page_log2 > page_log2", "? page_log2 > 99"),
    ("directory of its own size", "? structure->page_log2 > page_log2",
     "? structure->page_log2 >= page_log2"),
    ("pages of any size", "? structure->page_log2 == page_log2", "? structure->page_log2 < 99"),
    ("dependent rows accepted", "row ^= basis[known];", "row ^= 0;"),
    ("bits inside a page accepted", "(own->rows[bit] & inside) != 0", "inside == 12345"),
    ("two of a kind accepted", "other->array == own->array && other->role",
     "other->array == 99 && other->role"),
    ("constant too large accepted", "own->constant >= sets_count ||", ""),
    ("no safe ways accepted", "array->safe_ways == 0 ||", ""),
    ("too many safe ways accepted", "array->safe_ways > array->ways)", "false)"),
    ("windows not aligned", "(window->start & (((uintptr_t)1 << size_log2) - 1)) != 0", "false"),
    ("windows of one page", "size_log2 <= window->page_log2", "size_log2 < window->page_log2"),
    ("windows not compared", "one->start >> larger != other->start >> larger", "larger < 99"),
    ("windows compared by the smaller size", "one->size_log2 > other->size_log2 ? one",
     "one->size_log2 < other->size_log2 ? one"),
    ("own windows not compared", "own == other && i == number", "own == other"),
    ("sets not compared", "(one->owned[word] & other->owned[word]) != 0", "word == 12345"),
    ("few sets compared", "word < (sets_count + 31) / 32;", "word < sets_count / 32;"),
    ("sets beyond the array", "owned[0] >> sets_count != 0", "owned[0] == 12345"),
    ("last page handed out", "pages_of(search->window) - 1;", "pages_of(search->window);"),
    ("one page too few", "            if (count == 0) {\n                return page + 1;",
     "            if (count == 1) {\n                return page + 1;"),
    ("entries not counted once", "counted = entry;", "counted = UINTPTR_MAX;"),
    ("entries of another set", "structure, address) == index;", "structure, address) != index;"),
    ("one way too many", "count > array->safe_ways - sets->taken",
     "count > array->safe_ways - sets->taken + 1"),
    ("other entries forgotten", "count > array->safe_ways - sets->taken",
     "count > array->safe_ways"),
    ("safe ways forgotten", "!tlb_color_never_misses(&search, end)", "end == 0"),
    ("too little memory accepted", "words_count < TAU_TLB_COLOR_WORDS", "1 > TAU_TLB_COLOR_WORDS"),
    ("no page accepted", "request->pages_count == 0 ||", ""),
    ("memory as it was", "        pages[page / 32] = 0;\n", ""),
    ("header in a gap", "window->start + TLB_COLOR_WORD_BYTES,", "window->start,"),
    ("gaps accepted", "<< page % 32) < 0;", "<< page % 32) < 1;"),
    ("span not looked at", "TAU_ON_LONGEST_PATH(offset < heap->span_bytes) &&", ""),
    ("control block in the largest run", "run.size_bytes < smallest.size_bytes ? run",
     "run.size_bytes + 1 > smallest.size_bytes ? run"),
    ("largest run not last", "run.start != smallest && run.start != largest.start",
     "run.start != smallest"),
    ("control block in the highest of equal runs", "run.size_bytes < smallest.size_bytes ? run",
     "run.size_bytes <= smallest.size_bytes ? run"),
    ("lowest of equal runs last", "run.size_bytes >= largest.size_bytes ? run",
     "run.size_bytes > largest.size_bytes ? run"),
    ("started twice", "if (heap->blocks != NULL) {", "if (false) {"),
    ("NULL is foreign", "    if (pointer == NULL) {\n        return TAU_OK;\n    }\n", ""),
    ("misuse not told", "    TAU_PORT_MISUSE(heap->blocks, pointer, TAU_FOREIGN_POINTER);\n", ""),
]  # fmt: skip

LARGEST = "private/heap/tlsf_largest.h"

MUTANTS = [
    *(Mutant(name, "tlb_color.c", old, new) for name, old, new in ROWS),
    Mutant("largest object a word too large", LARGEST, "- TLSF_LARGEST_CANARY_BYTES;", "+ 8;"),
]

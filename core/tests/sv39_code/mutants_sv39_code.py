"""Small wrong changes of the port of cold code to Sv39: (what goes wrong, old text, new text)."""

from __future__ import annotations

from core.tests.mutants.mutate import Mutant

FILE = "sv39_code.c"
CLEAR = "    *(volatile uint64_t *)entry = 0;\n"
FLUSH_OLD = "    TAU_SV39_CODE_FLUSH(sv39_code_address_of(code, page));\n"
UNMAP = (
    "        sv39_code_unmap(code, answer.evicted.number, code->entries[answer.frame.number]);\n"
    "    }\n    return TAU_OK;\n}\n"
)
FETCH = "    TAU_SV39_CODE_FETCH_ANEW();\n"
MAP = "    *(volatile uint64_t *)entry = number << SV39_CODE_NUMBER_SHIFT | SV39_CODE_ENTRY;\n"
FLUSH_NEW = "    TAU_SV39_CODE_FLUSH(sv39_code_address_of(code, load->page.number));\n"
READ = (
    "    if (TAU_ON_LONGEST_PATH(load.is_needed)) {\n"
    "        tau_sv39_code_read(code, &load);\n    }\n"
)
END = "    sv39_code_end(code, &load);\n    TAU_INVARIANT"

# The steps of a load, left out or in another order.
STEPS = [
    ("victim not cleared", CLEAR, ""),
    ("victim not flushed", CLEAR + FLUSH_OLD, CLEAR),
    ("victim flushed, then cleared", CLEAR + FLUSH_OLD, FLUSH_OLD + CLEAR),
    ("copied, then victim unmapped",
     "    if (TAU_ON_LONGEST_PATH(answer.action == TAU_CODE_CACHE_REPLACE)) {\n" + UNMAP,
     "    if (load->is_needed && code->place.store != NULL) {\n"
     "        tau_sv39_code_read(code, load);\n    }\n"
     "    if (TAU_ON_LONGEST_PATH(answer.action == TAU_CODE_CACHE_REPLACE)) {\n" + UNMAP),
    ("mapped, then copied", READ + END,
     "    sv39_code_end(code, &load);\n" + READ + "    TAU_INVARIANT"),
    ("not copied", READ, ""),
    ("no fence of fetches", FETCH + MAP, MAP),
    ("mapped, then fence of fetches", FETCH + MAP, MAP + FETCH),
    ("fence of fetches, then copied", READ + END,
     "    TAU_SV39_CODE_FETCH_ANEW();\n" + READ +
     "    *(volatile uint64_t *)sv39_code_entry_of(code, load.page.number) =\n"
     "        code->place.frames[load.frame.number].number << SV39_CODE_NUMBER_SHIFT |"
     " SV39_CODE_ENTRY;\n"
     "    TAU_SV39_CODE_FLUSH(sv39_code_address_of(code, load.page.number));\n"
     "    code->entries[load.frame.number] = sv39_code_entry_of(code, load.page.number);\n"
     "    TAU_INVARIANT"),
    ("not mapped", MAP + FLUSH_NEW, FLUSH_NEW),
    ("absence not flushed", MAP + FLUSH_NEW, MAP),
    ("flushed, then mapped", MAP + FLUSH_NEW, FLUSH_NEW + MAP),
]  # fmt: skip

OTHERS = [
    ("another address flushed", "code->place.first + ((uintptr_t)page << TAU_PAGE_LOG2)",
     "code->place.first + ((uintptr_t)(page ^ 1) << TAU_PAGE_LOG2)"),
    ("entry of the first table", "tables[place / SV39_CODE_ENTRIES]", "tables[0]"),
    ("entry from the table's start", "(code->place.first >> TAU_PAGE_LOG2) %",
     "(0 * code->place.first) %"),
    ("copied page too short",
     "; i += SV39_CODE_WORDS_AT_ONCE) {  // bound: a page\n        uint64_t words",
     " - SV39_CODE_WORDS_AT_ONCE; i += SV39_CODE_WORDS_AT_ONCE) {\n        uint64_t words"),
    ("always page 0", "(size_t)load->page.number * SV39_", "0 * SV39_"),
    ("copied to another frame", "frames[load->frame.number].memory;",
     "frames[load->frame.number ^ 1].memory;"),
    ("no accessed bit", "UINT64_C(0x6b)", "UINT64_C(0x2b)"),
    ("not global", "UINT64_C(0x6b)", "UINT64_C(0x4b)"),
    ("code can be written", "UINT64_C(0x6b)", "UINT64_C(0x6f)"),
    ("code of the user's", "UINT64_C(0x6b)", "UINT64_C(0x7b)"),
    ("stores served", "(access & TAU_WRITE) != 0", "access == 0"),
    ("page beyond the last", "page >= code->cache.pages_count) {\n        return TAU_PAGE_OUTSIDE;"
     "\n    }\n    if ((access", "page > code->cache.pages_count) {\n        return"
     " TAU_PAGE_OUTSIDE;\n    }\n    if ((access"),
    ("always copied", "load->is_needed = answer.action != TAU_CODE_CACHE_RETRY",
     "load->is_needed = true"),
    ("no store, no refusal", "code->place.store == NULL\n", "false\n"),
    ("differing page released", "return difference == 0;", "return difference != 1;"),
    ("compared too short", "; i += SV39_CODE_WORDS_AT_ONCE) {  // bound: a page\n#pragma",
     " - SV39_CODE_WORDS_AT_ONCE; i += SV39_CODE_WORDS_AT_ONCE) {\n#pragma"),
    ("differing page not pinned", "tau_code_cache_pin(&code->cache, page);",
     "TAU_OK;"),
    ("released twice", "if (*entry == 0) {", "if (*entry == 1) {"),
    ("loaded page released", "found != TAU_CODE_CACHE_PAGE_ABSENT", "found == 1000"),
    ("pinned page mapped", "found < TAU_CODE_CACHE_FRAMES_MAX ?", "found <"
     " TAU_CODE_CACHE_PAGE_ABSENT ?"),
    ("page outside released", "if (page.number >= code->cache.pages_count)",
     "if (page.number > code->cache.pages_count)"),
    ("not dropped", "tau_code_cache_drop(&code->cache, load->frame);", "TAU_OK;"),
    ("canceled frame keeps its entry", "    code->entries[load->frame.number] = &code->no_entry;\n",
     ""),
    ("entry not noted", "    code->entries[load->frame.number] = entry;\n", ""),
    ("period without a flush", "    TAU_SV39_CODE_FLUSH_ALL();\n    tau", "    tau"),
    ("accessed bits stay", "*entry & ~SV39_CODE_ACCESSED;", "*entry;"),
    ("last frame stays accessed", "accessed(code->entries, code->cache.frames_count)",
     "accessed(code->entries, code->cache.frames_count - 1)"),
    ("accessed bits not read", "    tau_sv39_code_use(code);\n    sv39", "    sv39"),
    ("use not passed on", "    tau_code_cache_use(&code->cache, &used);\n", ""),
    ("visit not passed on", "    code_cache_set_some(&code->cache.used, first, bits);\n", ""),
    ("visited bits stay", "*entry = value & ~SV39_CODE_ACCESSED;", "*entry = value;"),
    ("visited pages not flushed", "    TAU_SV39_CODE_FLUSH_ALL();\n    // Of", "    // Of"),
    ("visits of the first word only", "used, first, bits", "used, first % 32, bits"),
    ("the same frames visited", "next_visited = behind < code->cache.frames_count ? behind : 0;",
     "next_visited = first;"),
    ("bits in the wrong order", "bits << 1 | (*(const volatile uint64_t *)*next >>"
     " SV39_CODE_ACCESSED_BIT & 1)", "bits >> 1 | (*(const volatile uint64_t *)*next >>"
     " SV39_CODE_ACCESSED_BIT & 1) << (count - 1)"),
    ("frames of the first word only", "if (count > first) {", "if (first == 0) {"),
    ("no aging", "_ALL();\n    tau_code_cache_age(&code->cache);\n", "_ALL();\n"),
    ("visits end no period", "        tau_code_cache_age(&code->cache);\n        return;\n", ""),
    ("first page within a page", "place->first % TAU_PAGE_BYTES != 0 ||", ""),
    ("pages wrap around", "place->first + (bytes - 1) < place->first ||", ""),
    ("no tables accepted", "place->tables == NULL ||", ""),
    ("no frames accepted", "place->frames == NULL ||", ""),
    ("store at an odd place", "(uintptr_t)place->store % 8 != 0 ||", ""),
    ("frame at an odd place", "(uintptr_t)frames[i].memory % TAU_PAGE_BYTES != 0", "false"),
    ("no memory accepted", "frames[i].memory == NULL ||", ""),
    ("too large a number", "frames[i].number >= SV39_CODE_PHYSICAL_PAGES_MAX", "false"),
    ("self test blind for entries", "return code->entries[frame] == sv39_code_entry_of(",
     "return code->entries[frame] != NULL || sv39_code_entry_of("),
]  # fmt: skip

MUTANTS = [Mutant(name, FILE, old, new) for name, old, new in (*STEPS, *OTHERS)]

// Proofs of TLB coloring, for CBMC: the shipped functions, on a partition of any content.
//
// Geometry, owners and windows are arbitrary, wrong ones included, within the sizes below.
// Nothing is assumed of them, but in two steps, as the solver finds no answer to all at once:
//   1. prove_check shows that what tau_tlb_color_check accepts is_right. prove_index shows that
//      tlb_color_index_of gives the set's number that [CLR-4] says, one bit after the other.
//   2. The proofs of heaps replace these two: any_status accepts anything that is_right, and
//      any_index is any set of the array for each entry. So they hold for all geometries of these
//      sizes, whatever their rows are, and wherever the window is.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAU_ASSERT_LEVEL 1
#define TAU_ASSERT_FAILED(text) __CPROVER_assert(0, "assert of the core: " text)
#include "core/tests/proofs/any.h"
#include "core/tlb_color.c"

enum {
    ARRAYS = PROOF_ARRAYS,
    STRUCTURES = ARRAYS + 1,
    ROWS = 2,
    PRINCIPALS = 2,
    WINDOW_PAGES_LOG2 = PROOF_PAGES_LOG2,
    BASE_LOG2 = 12,  // of a page in bytes; a shift by any number would cost the solver hours
    PAGE_LOG2 = PROOF_PAGE_LOG2,
    WINDOW_START = 0x40000000,
    WINDOW_PAGES = 1 << WINDOW_PAGES_LOG2,
};

static struct tau_tlb_color_array arrays[ARRAYS];
static uintptr_t rows[STRUCTURES][ROWS];
static struct tau_tlb_color_structure structures[STRUCTURES];
static uint32_t owned[PRINCIPALS][ARRAYS];
static struct tau_tlb_color_sets sets[PRINCIPALS][ARRAYS];
static struct tau_tlb_color_window windows[PRINCIPALS];
static struct tau_tlb_color_principal principals[PRINCIPALS];
static struct tau_tlb_color_geometry geometry;
static struct tau_tlb_color_partition partition;
static struct tau_tlb_color heap;
static uint32_t bits[1];

// Any partition of these sizes. Each principal has one window.
static void any_partition(void) {
    __CPROVER_havoc_object(arrays);
    __CPROVER_havoc_object(rows);
    __CPROVER_havoc_object(owned);
    for (unsigned i = 0; i < ARRAYS; i++) {
        __CPROVER_assume(arrays[i].sets_count <= 1u << ROWS);
    }
    for (unsigned i = 0; i < STRUCTURES; i++) {
        structures[i] =
            (struct tau_tlb_color_structure){rows[i], nondet_number(), (uint8_t)nondet_number(),
                                             (uint8_t)nondet_number(), (uint8_t)nondet_number()};
    }
    for (unsigned i = 0; i < PRINCIPALS; i++) {
        for (unsigned array = 0; array < ARRAYS; array++) {
            const bool is_none = nondet_number() == 0;
            sets[i][array] =
                (struct tau_tlb_color_sets){is_none ? NULL : &owned[i][array], nondet_number()};
        }
        windows[i] = (struct tau_tlb_color_window){nondet_number(), PAGE_LOG2 + WINDOW_PAGES_LOG2,
                                                   PAGE_LOG2, 0, 0};
        principals[i] = (struct tau_tlb_color_principal){
            .sets = sets[i],
            .windows = &windows[i],
            .windows_count = 1,
            .group = nondet_number()};
    }
    geometry = (struct tau_tlb_color_geometry){arrays, structures, ARRAYS, STRUCTURES, BASE_LOG2};
    partition = (struct tau_tlb_color_partition){&geometry, principals, PRINCIPALS};
}

// The sets of an array that a principal owns, as bits.
static uint32_t owned_by(unsigned principal, unsigned array) {
    return sets[principal][array].owned != NULL ? owned[principal][array] : 0;
}

static bool owns(unsigned principal, unsigned array, uint32_t set) {
    return (owned_by(principal, array) >> set & 1u) != 0;
}

// The set of each structure's entry for each page of the window of principal 0.
static uint32_t indices[STRUCTURES][WINDOW_PAGES];

uint32_t any_index(const struct tau_tlb_color_geometry *of,
                   const struct tau_tlb_color_structure *own, uintptr_t address) {
    (void)of;
    return indices[own - structures][(address >> PAGE_LOG2) % WINDOW_PAGES];
}

enum tau_status any_status(const struct tau_tlb_color_partition *checked) {
    (void)checked;
    return (enum tau_status)nondet_number();
}

// Whether STRUCTURE has an entry of a data page of the window of PRINCIPAL, in an array with sets.
static bool translates(unsigned structure, unsigned principal) {
    const struct tau_tlb_color_structure *const own = &structures[structure];
    const bool is_page =
        own->role == TAU_TLB_COLOR_DATA && own->page_log2 == windows[principal].page_log2;
    const bool is_directory =
        own->role == TAU_TLB_COLOR_DIRECTORY && own->page_log2 > windows[principal].page_log2;
    return structure < geometry.structures_count && (is_page || is_directory) &&
           arrays[own->array].sets_count > 1;
}

static bool is_owned_page(unsigned principal, uintptr_t address) {
    bool result = true;
    for (unsigned i = 0; i < STRUCTURES; i++) {
        if (translates(i, principal)) {
            result = result && owns(principal, structures[i].array,
                                    any_index(&geometry, &structures[i], address));
        }
    }
    return result;
}

static bool is_given(uint32_t page) {
    return (bits[0] >> (31 - page) & 1u) != 0;
}

static uintptr_t page_at(unsigned principal, uint32_t page) {
    return windows[principal].start + ((uintptr_t)page << windows[principal].page_log2);
}

static uint32_t window_pages(unsigned principal) {
    return 1u << (windows[principal].size_log2 - windows[principal].page_log2);
}

// The set of an entry is the parity of each row with the page number, and the constant.
void prove_index(void) {
    any_partition();
    const unsigned sets_log2 = below(ROWS + 1);
    const uintptr_t address = nondet_number();
    uint32_t index = structures[0].constant;
    __CPROVER_assume(structures[0].array < geometry.arrays_count && index >> sets_log2 == 0);
    arrays[structures[0].array].sets_count = 1u << sets_log2;
    for (unsigned row = 0; row < sets_log2; row++) {
        const uintptr_t joined = address >> BASE_LOG2 & rows[0][row];
        for (unsigned bit = 0; bit < 32; bit++) {
            index ^= (joined >> bit & 1u) << row;
        }
    }
    __CPROVER_assert(tlb_color_index_of(&geometry, &structures[0], address) == index,
                     "index: the parity of each row");
    __CPROVER_assert(index >> sets_log2 == 0, "index: a set of the array");
    reached();
}

// Whether the window of PRINCIPAL contains ADDRESS.
static bool is_in_window(unsigned principal, uintptr_t address) {
    return address >> windows[principal].size_log2 ==
           windows[principal].start >> windows[principal].size_log2;
}

// Whether both may own the same sets.
static bool are_in_one_group(void) {
    return principals[0].group != 0 && principals[0].group == principals[1].group;
}

// What the proofs of heaps need of a partition; ADDRESS is any.
static bool is_right(uintptr_t address) {
    bool result = !(is_in_window(0, address) && is_in_window(1, address));
    for (unsigned i = 0; i < ARRAYS; i++) {
        const uint32_t sets_count = arrays[i].sets_count;
        result = result && (sets_count == 1 || sets_count == 2 || sets_count == 4);
        const uint32_t both[PRINCIPALS] = {owned_by(0, i), owned_by(1, i)};
        const bool is_apart = are_in_one_group() || (both[0] & both[1]) == 0;
        result =
            result && (sets_count == 1 || (is_apart && (both[0] | both[1]) >> sets_count == 0));
    }
    for (unsigned i = 0; i < STRUCTURES; i++) {
        result = result && structures[i].array < ARRAYS &&
                 structures[i].constant < arrays[structures[i].array].sets_count;
    }
    for (unsigned i = 0; i < PRINCIPALS; i++) {
        result = result && windows[i].start << (32 - windows[i].size_log2) == 0;
    }
    return result;
}

// What else [CLR-2] ... [CLR-5] and [CLR-7] say: ways, rows, kinds of structures, and what
// translates the pages of a window. The proofs of heaps hold without it.
static bool is_by_the_rules(void) {
    bool result = true, translates_windows = false;
    for (unsigned i = 0; i < ARRAYS; i++) {
        result = result && arrays[i].safe_ways > 0 && arrays[i].safe_ways <= arrays[i].ways;
    }
    for (unsigned i = 0; i < STRUCTURES; i++) {
        const struct tau_tlb_color_structure *const own = &structures[i];
        if (own->array >= ARRAYS || own->page_log2 < BASE_LOG2 || own->page_log2 >= 32) {
            return false;
        }
        const uint32_t sets_count = arrays[own->array].sets_count;
        const uintptr_t inside = ((uintptr_t)1 << (own->page_log2 - BASE_LOG2)) - 1;
        result = result && own->role <= TAU_TLB_COLOR_CODE;
        result = result && (sets_count == 1 || (rows[i][0] != 0 && (rows[i][0] & inside) == 0));
        result = result && (sets_count <= 2 || (rows[i][1] != 0 && (rows[i][1] & inside) == 0));
        result = result && (sets_count <= 2 || rows[i][0] != rows[i][1]);
        for (unsigned other = 0; other < i; other++) {
            result = result && !(structures[other].array == own->array &&
                                 structures[other].role == own->role &&
                                 structures[other].page_log2 == own->page_log2);
        }
        translates_windows =
            translates_windows || (own->role == TAU_TLB_COLOR_DATA && own->page_log2 == PAGE_LOG2);
    }
    return result && translates_windows;
}

// A partition that is accepted is right: no set has two owners, but of one group, and no address.
void prove_check(void) {
    any_partition();
    __CPROVER_assume(tau_tlb_color_check(&partition) == TAU_OK);
    __CPROVER_assert(is_right(nondet_number()), "check: what is accepted is right");
    __CPROVER_assert(is_by_the_rules(), "check: geometry and pages are by the rules");
    reached();
}

// Any heap of principal 0 that is accepted; the result is how many pages it asked for.
static uint32_t any_heap(enum tau_tlb_color_mode mode) {
    any_partition();
    __CPROVER_havoc_object(indices);
    __CPROVER_havoc_object(bits);
    windows[0].start = WINDOW_START;
    __CPROVER_assume(is_right(WINDOW_START));
    for (unsigned i = 0; i < STRUCTURES; i++) {
        // A larger entry covers the whole window too.
        __CPROVER_assume(structures[i].page_log2 <= PAGE_LOG2 + WINDOW_PAGES_LOG2);
        for (unsigned page = 0; page < WINDOW_PAGES; page++) {
            __CPROVER_assume(indices[i][page] < arrays[structures[i].array].sets_count);
        }
    }
    windows[0].mode = (uint8_t)mode;
    windows[0].pages_count = nondet_number();
    const enum tau_status status =
        tau_tlb_color_init(&heap, &partition, 0, 0, bits, nondet_number());
    __CPROVER_assume(status == TAU_OK);
    return windows[0].pages_count;
}

// Whether PRINCIPAL owns a set of the page of the window of principal 0 at ADDRESS.
static bool owns_a_set(unsigned principal, uintptr_t address) {
    bool result = false;
    for (unsigned i = 0; i < STRUCTURES; i++) {
        if (translates(i, 0)) {
            result = result || owns(principal, structures[i].array,
                                    any_index(&geometry, &structures[i], address));
        }
    }
    return result;
}

// A page that is handed out has all its entries in its owner's sets, and in nobody else's.
void prove_pages(void) {
    const uint32_t wanted = any_heap(TAU_TLB_COLOR_ISOLATED);
    uint32_t given_count = 0;
    for (uint32_t page = 0; page < WINDOW_PAGES; page++) {
        const uintptr_t address = page_at(0, page);
        const bool is_inside = page < window_pages(0);
        given_count += is_inside && is_given(page);
        if (is_inside && is_given(page)) {
            __CPROVER_assert(is_owned_page(0, address), "pages: in the owner's sets");
            __CPROVER_assert(page + 1 < window_pages(0), "pages: never the last of the window");
            __CPROVER_assert(are_in_one_group() || !owns_a_set(1, address),
                             "pages: in no set of another");
        } else if (is_inside) {
            __CPROVER_assert(!is_owned_page(0, address) ||
                                 address - windows[0].start >= heap.span_bytes,
                             "pages: the lowest that are admissible");
        } else {
            __CPROVER_assert(!is_given(page), "pages: all inside the window");
        }
    }
    __CPROVER_assert(heap.lowest == WINDOW_START + sizeof(tau_word),
                     "pages: headers from its start");
    __CPROVER_assert(given_count == wanted, "pages: as many as wanted");
    __CPROVER_assert(bits[0] << (WINDOW_PAGES - 1) << 1 == 0, "pages: no bit behind the window");
    reached();
}

// No set has more entries than its safe ways.
void prove_ways(void) {
    (void)any_heap(TAU_TLB_COLOR_NO_MISS);
    const unsigned array = below(ARRAYS);
    const uint32_t set = below(1u << ROWS);
    __CPROVER_assume(set < arrays[array].sets_count);
    __CPROVER_assume(arrays[array].sets_count > 1 && owns(0, array, set));
    uint32_t entries = sets[0][array].taken;
    __CPROVER_assert(entries <= arrays[array].safe_ways, "ways: room for the entries besides");
    for (unsigned i = 0; i < STRUCTURES; i++) {
        for (uint32_t page = 0; page < WINDOW_PAGES; page++) {
            const uintptr_t entry = page_at(0, page) >> structures[i].page_log2;
            bool is_new = page < window_pages(0) && is_given(page) && translates(i, 0) &&
                          structures[i].array == array &&
                          any_index(&geometry, &structures[i], page_at(0, page)) == set;
            for (uint32_t before = 0; before < page; before++) {
                is_new = is_new && !(is_given(before) &&
                                     page_at(0, before) >> structures[i].page_log2 == entry);
            }
            entries += is_new;
        }
    }
    __CPROVER_assert(entries <= arrays[array].safe_ways, "ways: no set beyond its safe ways");
    reached();
}

// A run is a longest row of pages that were handed out, whatever these are.
void prove_runs(void) {
    const uint32_t page_log2 = 2 + below(20), pages = 1 + below(WINDOW_PAGES);
    const uintptr_t start = (uintptr_t)nondet_number() << (page_log2 + WINDOW_PAGES_LOG2);
    bits[0] = nondet_number();
    heap = (struct tau_tlb_color){
        NULL, start + sizeof(tau_word), (uintptr_t)pages << page_log2, bits, page_log2, 0};
    const uint32_t first = below(WINDOW_PAGES), count = below(WINDOW_PAGES);
    struct tau_tlb_color_run run = {start + ((uintptr_t)first << page_log2),
                                    (size_t)count << page_log2};
    const uint32_t behind = count == 0 ? 0 : first + count;
    const uint32_t page = below(WINDOW_PAGES);
    __CPROVER_assume(behind <= pages && page < pages);
    if (tau_tlb_color_next_run(&heap, &run)) {
        const uint32_t low = (uint32_t)((run.start - start) >> page_log2);
        const uint32_t high = low + (uint32_t)(run.size_bytes >> page_log2);
        __CPROVER_assert(low >= behind && high > low && high <= pages, "runs: the next one");
        __CPROVER_assert(page < low || page >= high || is_given(page), "runs: all handed out");
        __CPROVER_assert(page < behind || page >= low || !is_given(page), "runs: none left out");
        __CPROVER_assert(page != high || !is_given(page), "runs: none longer");
    } else {
        __CPROVER_assert(page < behind || !is_given(page), "runs: none left");
    }
    reached();
}

// TLSF reads a header only in a page that was handed out.
static bool is_header_given;

enum tau_status tau_tlsf_free(struct tau_tlsf *blocks, void *pointer) {
    (void)blocks;
    (void)pointer;
    __CPROVER_assert(is_header_given, "free: no header in a gap is read");
    return TAU_OK;
}

void prove_free(void) {
    static uint32_t blocks[1];
    const uint32_t page_log2 = 2 + below(20), pages = 1 + below(WINDOW_PAGES);
    const uintptr_t start = (uintptr_t)nondet_number() << (page_log2 + WINDOW_PAGES_LOG2);
    bits[0] = nondet_number();
    heap = (struct tau_tlb_color){(struct tau_tlsf *)blocks,
                                  start + sizeof(tau_word),
                                  (uintptr_t)pages << page_log2,
                                  bits,
                                  page_log2,
                                  0};
    const uintptr_t pointer = nondet_number();
    __CPROVER_assume(pointer == 0 || pointer >= sizeof(tau_word));
    const uintptr_t header = pointer - sizeof(tau_word);
    const bool is_inside = header >= start && header - start < heap.span_bytes;
    const uint32_t page = (uint32_t)((header - start) >> page_log2);
    is_header_given = is_inside && is_given(page);
    const enum tau_status status = tau_tlb_color_free(&heap, (void *)pointer);
    __CPROVER_assert(is_header_given || pointer == 0 || status == TAU_FOREIGN_POINTER,
                     "free: all else is foreign");
    reached();
}

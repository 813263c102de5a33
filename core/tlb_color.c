// TLB coloring. Searching loops over the pages of a window; calls of a started heap do not loop.
#include "core/tlb_color.h"

#include "core/port.h"
#include "core/private/bits.h"
#include "core/private/check.h"
#include "core/private/heap/tlsf_largest.h"
#include "core/private/inline.h"

#define TLB_COLOR_SETS_MAX (UINT32_C(1) << TAU_TLB_COLOR_ROWS_MAX)
#define TLB_COLOR_ADDRESS_BITS (8u * sizeof(uintptr_t))
#define TLB_COLOR_WORD_BYTES sizeof(tau_word)
#define TLB_COLOR_POOL_MAX_BYTES ((size_t)1 << 30)  // of any TLSF; larger ones need 64-bit words

_Static_assert(TLB_COLOR_SETS_MAX == 65536, "a set's number has 16 bits");
_Static_assert(sizeof(uintptr_t) >= sizeof(tau_word), "a header lies in front of an object");
_Static_assert(TAU_TLB_COLOR_WORDS(33) == 2, "words are rounded up");

// ---- Indices -----------------------------------------------------------------------------------

static unsigned tlb_color_parity(uintptr_t bits) {
    for (unsigned shift = TLB_COLOR_ADDRESS_BITS / 2; shift > 0;
         shift /= 2) {  // bound: log2 of bits
        bits ^= bits >> shift;
    }
    return (unsigned)(bits & 1);
}

// The set of the entry of STRUCTURE for ADDRESS.
static uint32_t tlb_color_index_of(const struct tau_tlb_color_geometry *geometry,
                                   const struct tau_tlb_color_structure *structure,
                                   uintptr_t address) {
    const uint32_t sets_count = geometry->arrays[structure->array].sets_count;
    uint32_t index = structure->constant;
    TAU_ASSERT(structure->array < geometry->arrays_count);
    TAU_ASSERT(tau_bits_is_power_of_two(sets_count));
    for (unsigned bit = 0; UINT32_C(1) << bit < sets_count; bit++) {  // bound: ROWS_MAX
        index ^= (uint32_t)tlb_color_parity(address >> geometry->page_log2 & structure->rows[bit])
                 << bit;
    }
    TAU_ASSERT(index < sets_count);
    return index;
}

static bool tlb_color_is_owned(const struct tau_tlb_color_sets *sets, uint32_t index) {
    return sets->owned != NULL && (sets->owned[index / 32] >> index % 32 & 1u) != 0;
}

static bool tlb_color_translates_data(const struct tau_tlb_color_structure *structure,
                                      unsigned page_log2) {
    return structure->role == TAU_TLB_COLOR_DATA        ? structure->page_log2 == page_log2
           : structure->role == TAU_TLB_COLOR_DIRECTORY ? structure->page_log2 > page_log2
                                                        : false;
}

// ---- What a partition is -----------------------------------------------------------------------

// Whether no row is the exclusive or of others. The basis has rows that are cleared in each other's
// lowest bit.
static bool tlb_color_are_independent(const uintptr_t *rows, unsigned count) {
    uintptr_t basis[TAU_TLB_COLOR_ROWS_MAX];
    TAU_ASSERT(count <= TAU_TLB_COLOR_ROWS_MAX);
    for (unsigned i = 0; i < count; i++) {  // bound: ROWS_MAX
        uintptr_t row = rows[i];
        for (unsigned known = 0; known < i; known++) {  // bound: ROWS_MAX
            if ((row & (basis[known] & -basis[known])) != 0) {
                row ^= basis[known];
            }
        }
        if (row == 0) {
            return false;
        }
        TAU_ASSERT(i == 0 || (row & (basis[0] & -basis[0])) == 0);
        basis[i] = row;
    }
    return true;
}

static bool tlb_color_is_structure(const struct tau_tlb_color_geometry *geometry, unsigned number) {
    const struct tau_tlb_color_structure *const own = &geometry->structures[number];
    TAU_ASSERT(number < geometry->structures_count);
    if (own->array >= geometry->arrays_count || own->role > TAU_TLB_COLOR_CODE ||
        own->page_log2 < geometry->page_log2 || own->page_log2 >= TLB_COLOR_ADDRESS_BITS) {
        return false;
    }
    const uint32_t sets_count = geometry->arrays[own->array].sets_count;
    const unsigned rows_count = tau_bits_log2(sets_count);
    TAU_ASSERT(UINT32_C(1) << rows_count == sets_count);
    TAU_ASSERT(rows_count <= TAU_TLB_COLOR_ROWS_MAX);
    if (own->constant >= sets_count || (own->rows == NULL && rows_count > 0) ||
        !tlb_color_are_independent(own->rows, rows_count)) {
        return false;
    }
    const uintptr_t inside = ((uintptr_t)1 << (own->page_log2 - geometry->page_log2)) - 1;
    for (unsigned bit = 0; bit < rows_count; bit++) {  // bound: ROWS_MAX
        if ((own->rows[bit] & inside) != 0) {
            return false;
        }
    }
    for (unsigned i = 0; i < number; i++) {  // bound: the structures
        const struct tau_tlb_color_structure *const other = &geometry->structures[i];
        if (other->array == own->array && other->role == own->role &&
            other->page_log2 == own->page_log2) {
            return false;
        }
    }
    return true;
}

static bool tlb_color_is_geometry(const struct tau_tlb_color_geometry *geometry) {
    if (geometry == NULL || geometry->arrays == NULL || geometry->structures == NULL ||
        geometry->arrays_count == 0 || geometry->structures_count == 0 ||
        geometry->page_log2 >= TLB_COLOR_ADDRESS_BITS) {
        return false;
    }
    for (unsigned i = 0; i < geometry->arrays_count; i++) {  // bound: the arrays
        const struct tau_tlb_color_array *const array = &geometry->arrays[i];
        if (!tau_bits_is_power_of_two(array->sets_count) ||
            array->sets_count > TLB_COLOR_SETS_MAX || array->safe_ways == 0 ||
            array->safe_ways > array->ways) {
            return false;
        }
    }
    for (unsigned i = 0; i < geometry->structures_count; i++) {  // bound: the structures
        if (!tlb_color_is_structure(geometry, i)) {
            return false;
        }
        TAU_ASSERT(geometry->structures[i].constant < TLB_COLOR_SETS_MAX);
        TAU_ASSERT(geometry->structures[i].page_log2 >= geometry->page_log2);
    }
    return true;
}

static bool tlb_color_is_window(const struct tau_tlb_color_geometry *geometry,
                                const struct tau_tlb_color_window *window) {
    const unsigned size_log2 = window->size_log2;
    if (size_log2 >= TLB_COLOR_ADDRESS_BITS || size_log2 <= window->page_log2 ||
        size_log2 - window->page_log2 >= 32 ||
        (window->start & (((uintptr_t)1 << size_log2) - 1)) != 0) {
        return false;
    }
    TAU_ASSERT(window->page_log2 < TLB_COLOR_ADDRESS_BITS);
    for (unsigned i = 0; i < geometry->structures_count; i++) {  // bound: the structures
        TAU_ASSERT(geometry->structures[i].role <= TAU_TLB_COLOR_CODE);
        if (geometry->structures[i].role == TAU_TLB_COLOR_DATA &&
            geometry->structures[i].page_log2 == window->page_log2) {
            return true;
        }
    }
    return false;
}

static bool tlb_color_are_apart(const struct tau_tlb_color_window *one,
                                const struct tau_tlb_color_window *other) {
    const unsigned larger = one->size_log2 > other->size_log2 ? one->size_log2 : other->size_log2;
    TAU_ASSERT(larger >= one->size_log2 && larger >= other->size_log2);
    TAU_ASSERT(larger < TLB_COLOR_ADDRESS_BITS);
    return one->start >> larger != other->start >> larger;
}

// Whether window NUMBER of principal OWN overlaps no window of OTHER, but itself.
static bool tlb_color_is_window_apart(const struct tau_tlb_color_principal *own, uint32_t number,
                                      const struct tau_tlb_color_principal *other) {
    TAU_ASSERT(number < own->windows_count);
    for (uint32_t i = 0; i < other->windows_count; i++) {  // bound: the windows
        const struct tau_tlb_color_window *const window = &other->windows[i];
        TAU_ASSERT(window->size_log2 > window->page_log2);
        const bool is_itself = own == other && i == number;
        if (!is_itself && !tlb_color_are_apart(&own->windows[number], window)) {
            return false;
        }
    }
    return true;
}

// Whether none of SETS_COUNT sets is owned by both.
static bool tlb_color_are_sets_apart(const struct tau_tlb_color_sets *one,
                                     const struct tau_tlb_color_sets *other, uint32_t sets_count) {
    TAU_ASSERT(one != other);
    TAU_ASSERT(sets_count > 1);
    if (one->owned == NULL || other->owned == NULL) {
        return true;
    }
    for (uint32_t word = 0; word < (sets_count + 31) / 32; word++) {  // bound: the sets
        if ((one->owned[word] & other->owned[word]) != 0) {
            return false;
        }
    }
    return true;
}

// TAU_SETS_OWNED if principal OWN and OTHER, which is itself or one before it, meet.
static enum tau_status tlb_color_check_pair(const struct tau_tlb_color_geometry *geometry,
                                            const struct tau_tlb_color_principal *own,
                                            const struct tau_tlb_color_principal *other) {
    TAU_ASSERT(other <= own);
    TAU_ASSERT(geometry->arrays_count > 0);
    const bool may_share = own == other || (own->group != 0 && own->group == other->group);
    for (unsigned i = 0; !may_share && i < geometry->arrays_count; i++) {  // bound: the arrays
        const uint32_t sets_count = geometry->arrays[i].sets_count;
        if (sets_count > 1 &&
            !tlb_color_are_sets_apart(&own->sets[i], &other->sets[i], sets_count)) {
            return TAU_SETS_OWNED;
        }
    }
    for (uint32_t i = 0; i < own->windows_count; i++) {  // bound: the windows
        if (!tlb_color_is_window_apart(own, i, other)) {
            return TAU_SETS_OWNED;
        }
    }
    return TAU_OK;
}

// Checks a principal without the others: windows first, as they say TAU_BAD_ARGUMENT.
static bool tlb_color_is_principal(const struct tau_tlb_color_geometry *geometry,
                                   const struct tau_tlb_color_principal *principal) {
    TAU_ASSERT(geometry->structures_count > 0);
    if (principal->sets == NULL || (principal->windows == NULL && principal->windows_count > 0)) {
        return false;
    }
    for (uint32_t i = 0; i < principal->windows_count; i++) {  // bound: the windows
        if (!tlb_color_is_window(geometry, &principal->windows[i])) {
            return false;
        }
    }
    return true;
}

static bool tlb_color_are_sets_inside(const struct tau_tlb_color_geometry *geometry,
                                      const struct tau_tlb_color_principal *principal) {
    TAU_ASSERT(principal->sets != NULL);
    for (unsigned i = 0; i < geometry->arrays_count; i++) {  // bound: the arrays
        const uint32_t *const owned = principal->sets[i].owned;
        const uint32_t sets_count = geometry->arrays[i].sets_count;
        TAU_ASSERT(sets_count >= 32 || 32 % sets_count == 0);
        if (sets_count > 1 && sets_count < 32 && owned != NULL && owned[0] >> sets_count != 0) {
            return false;
        }
    }
    return true;
}

enum tau_status tau_tlb_color_check(const struct tau_tlb_color_partition *partition) {
    if (partition == NULL || !tlb_color_is_geometry(partition->geometry) ||
        (partition->principals == NULL && partition->principals_count > 0)) {
        return TAU_BAD_ARGUMENT;
    }
    const struct tau_tlb_color_principal *const principals = partition->principals;
    for (uint32_t i = 0; i < partition->principals_count; i++) {  // bound: the principals
        if (!tlb_color_is_principal(partition->geometry, &principals[i])) {
            return TAU_BAD_ARGUMENT;
        }
    }
    for (uint32_t i = 0; i < partition->principals_count; i++) {  // bound: the principals
        if (!tlb_color_are_sets_inside(partition->geometry, &principals[i])) {
            return TAU_SETS_OUTSIDE;
        }
    }
    for (uint32_t i = 0; i < partition->principals_count; i++) {  // bound: the principals
        for (uint32_t other = 0; other <= i; other++) {           // bound: the principals
            if (tlb_color_check_pair(partition->geometry, &principals[i], &principals[other]) !=
                TAU_OK) {
                return TAU_SETS_OWNED;
            }
        }
    }
    return TAU_OK;
}

// ---- The pages of a heap -----------------------------------------------------------------------

// A search: addresses of a window for a principal.
struct tlb_color_search {
    const struct tau_tlb_color_geometry *geometry;
    const struct tau_tlb_color_principal *principal;
    const struct tau_tlb_color_window *window;
};

static bool tlb_color_is_admissible(const struct tlb_color_search *search, uintptr_t address) {
    const struct tau_tlb_color_geometry *const geometry = search->geometry;
    TAU_ASSERT(address >> search->window->size_log2 ==
               search->window->start >> search->window->size_log2);
    TAU_ASSERT((address & (((uintptr_t)1 << search->window->page_log2) - 1)) == 0);
    for (unsigned i = 0; i < geometry->structures_count; i++) {  // bound: the structures
        const struct tau_tlb_color_structure *const structure = &geometry->structures[i];
        if (tlb_color_translates_data(structure, search->window->page_log2) &&
            geometry->arrays[structure->array].sets_count > 1 &&
            !tlb_color_is_owned(&search->principal->sets[structure->array],
                                tlb_color_index_of(geometry, structure, address))) {
            return false;
        }
    }
    return true;
}

static uint32_t tlb_color_pages_of(const struct tau_tlb_color_window *window) {
    return UINT32_C(1) << (window->size_log2 - window->page_log2);
}

static uintptr_t tlb_color_address_of(const struct tau_tlb_color_window *window, uint32_t page) {
    return window->start + ((uintptr_t)page << window->page_log2);
}

// The page after the last one of a heap of COUNT pages; 0 if the window has too few. The last page
// of the window stays out: after it another heap may begin, and processors prefetch.
static uint32_t tlb_color_search_end(const struct tlb_color_search *search, uint32_t count) {
    const uint32_t last = tlb_color_pages_of(search->window) - 1;
    TAU_ASSERT(count > 0);
    TAU_ASSERT(last > 0);
    for (uint32_t page = 0; page < last; page++) {  // bound: the window's pages
        if (tlb_color_is_admissible(search, tlb_color_address_of(search->window, page))) {
            count--;
            if (count == 0) {
                return page + 1;
            }
        }
    }
    TAU_ASSERT(count > 0);
    return 0;
}

// The entries of admissible pages below END in set INDEX of ARRAY.
static uint32_t tlb_color_entries_count(const struct tlb_color_search *search, uint32_t end,
                                        unsigned array, uint32_t index) {
    uint32_t count = 0;
    TAU_ASSERT(end < tlb_color_pages_of(search->window));
    TAU_ASSERT(index < search->geometry->arrays[array].sets_count);
    for (unsigned i = 0; i < search->geometry->structures_count; i++) {  // bound: the structures
        const struct tau_tlb_color_structure *const structure = &search->geometry->structures[i];
        if (structure->array != array ||
            !tlb_color_translates_data(structure, search->window->page_log2)) {
            continue;
        }
        uintptr_t counted = UINTPTR_MAX;
        for (uint32_t page = 0; page < end; page++) {  // bound: the window's pages
            const uintptr_t address = tlb_color_address_of(search->window, page);
            const uintptr_t entry = address >> structure->page_log2;
            if (entry != counted && tlb_color_is_admissible(search, address)) {
                counted = entry;  // entries ascend with the pages, so each is counted once
                count += tlb_color_index_of(search->geometry, structure, address) == index;
            }
        }
    }
    TAU_ASSERT(count <= end * search->geometry->structures_count);
    return count;
}

// Whether no set has more entries than its safe ways.
static bool tlb_color_never_misses(const struct tlb_color_search *search, uint32_t end) {
    TAU_ASSERT(end > 0);
    TAU_ASSERT(end < tlb_color_pages_of(search->window));
    for (unsigned i = 0; i < search->geometry->arrays_count; i++) {  // bound: the arrays
        const struct tau_tlb_color_array *const array = &search->geometry->arrays[i];
        const struct tau_tlb_color_sets *const sets = &search->principal->sets[i];
        for (uint32_t at = 0; array->sets_count > 1 && at < array->sets_count; at++) {
            if (!tlb_color_is_owned(sets, at)) {
                continue;
            }
            const uint32_t count = tlb_color_entries_count(search, end, i, at);
            if (sets->taken > array->safe_ways || count > array->safe_ways - sets->taken) {
                return false;
            }
        }
    }
    return true;
}

enum tau_status tau_tlb_color_init(struct tau_tlb_color *heap,
                                   const struct tau_tlb_color_partition *partition,
                                   uint32_t principal, uint32_t window, uint32_t *pages,
                                   size_t words_count) {
    const enum tau_status status = tau_tlb_color_check(partition);
    if (status != TAU_OK) {
        return status;
    }
    if (heap == NULL || pages == NULL || principal >= partition->principals_count ||
        window >= partition->principals[principal].windows_count) {
        return TAU_BAD_ARGUMENT;
    }
    const struct tau_tlb_color_principal *const own = &partition->principals[principal];
    const struct tlb_color_search search = {partition->geometry, own, &own->windows[window]};
    if (search.window->pages_count == 0 || search.window->mode > TAU_TLB_COLOR_NO_MISS ||
        words_count < TAU_TLB_COLOR_WORDS(tlb_color_pages_of(search.window))) {
        return TAU_BAD_ARGUMENT;
    }
    const uint32_t end = tlb_color_search_end(&search, search.window->pages_count);
    if (end == 0) {
        return TAU_WINDOW_FULL;
    }
    TAU_ASSERT(end >= search.window->pages_count);
    TAU_ASSERT(tlb_color_is_admissible(&search, tlb_color_address_of(search.window, end - 1)));
    if (search.window->mode == TAU_TLB_COLOR_NO_MISS && !tlb_color_never_misses(&search, end)) {
        return TAU_WAYS_EXCEEDED;
    }
    for (uint32_t page = 0; page < end; page += 32) {  // bound: the window's pages
        pages[page / 32] = 0;
    }
    for (uint32_t page = 0; page < end; page++) {  // bound: the window's pages
        if (tlb_color_is_admissible(&search, tlb_color_address_of(search.window, page))) {
            pages[page / 32] |= UINT32_C(0x80000000) >> page % 32;
        }
    }
    *heap = (struct tau_tlb_color){
        .lowest = search.window->start + TLB_COLOR_WORD_BYTES,
        .span_bytes = (uintptr_t)end << search.window->page_log2,
        .pages = pages,
        .page_log2 = search.window->page_log2,
    };
    return TAU_OK;
}

// Whether the byte at OFFSET of the window, which is inside the span, lies in a page of the heap.
TAU_SHARED bool tlb_color_is_handed_out(const struct tau_tlb_color *heap, uintptr_t offset) {
    const uintptr_t page = offset >> heap->page_log2;
    return (int32_t)(heap->pages[page / 32] << page % 32) < 0;
}

bool tau_tlb_color_next_run(const struct tau_tlb_color *heap, struct tau_tlb_color_run *run) {
    const uintptr_t window = heap->lowest - TLB_COLOR_WORD_BYTES;
    const uintptr_t page_bytes = (uintptr_t)1 << heap->page_log2;
    uintptr_t offset = run->size_bytes == 0 ? 0 : run->start + run->size_bytes - window;
    TAU_ASSERT(offset % page_bytes == 0);
    TAU_ASSERT(window % page_bytes == 0);
    while (offset < heap->span_bytes &&
           !tlb_color_is_handed_out(heap, offset)) {  // bound: the pages
        offset += page_bytes;
    }
    const uintptr_t first = offset;
    while (offset < heap->span_bytes &&
           tlb_color_is_handed_out(heap, offset)) {  // bound: the pages
        offset += page_bytes;
    }
    if (offset == first) {
        return false;
    }
    *run = (struct tau_tlb_color_run){window + first, offset - first};
    TAU_ASSERT(run->size_bytes >= page_bytes);
    return true;
}

// ---- A TLSF over runs --------------------------------------------------------------------------

// Adds every run but SMALLEST, which the heap has, and LARGEST last, so that it is the first of its
// class.
static enum tau_status tlb_color_add_runs(const struct tau_tlb_color *heap, struct tau_tlsf *blocks,
                                          uintptr_t smallest, struct tau_tlb_color_run largest) {
    enum tau_status status = TAU_OK;
    struct tau_tlb_color_run run = {0, 0};
    TAU_ASSERT(largest.size_bytes != 0);
    while (status == TAU_OK && tau_tlb_color_next_run(heap, &run)) {  // bound: the runs
        if (run.start != smallest && run.start != largest.start) {
            status = tau_tlsf_add_pool(blocks, (void *)run.start, run.size_bytes);
        }
    }
    if (status == TAU_OK && largest.start != smallest) {
        status = tau_tlsf_add_pool(blocks, (void *)largest.start, largest.size_bytes);
    }
    TAU_ASSERT(status == TAU_OK || status == TAU_BAD_ARGUMENT);
    return status;
}

enum tau_status tau_tlb_color_start(struct tau_tlb_color *heap) {
    struct tau_tlb_color_run smallest = {0, SIZE_MAX};
    struct tau_tlb_color_run largest = {0, 0};
    struct tau_tlb_color_run run = {0, 0};
    if (heap->blocks != NULL) {
        return TAU_BAD_ARGUMENT;
    }
    while (tau_tlb_color_next_run(heap, &run)) {  // bound: the runs
        smallest = run.size_bytes < smallest.size_bytes ? run : smallest;
        largest = run.size_bytes >= largest.size_bytes ? run : largest;
    }
    TAU_ASSERT(largest.size_bytes >= smallest.size_bytes);
    struct tau_tlsf *const blocks =
        tau_tlsf_init((void *)smallest.start, smallest.size_bytes, largest.size_bytes);
    if (blocks == NULL) {
        return largest.size_bytes > TLB_COLOR_POOL_MAX_BYTES ? TAU_POOL_TOO_LARGE
                                                             : TAU_POOL_TOO_SMALL;
    }
    const enum tau_status status = tlb_color_add_runs(heap, blocks, smallest.start, largest);
    if (status != TAU_OK) {
        return status;
    }
    heap->blocks = blocks;
    heap->object_max_bytes = tlsf_largest_object(blocks);
    TAU_ASSERT(heap->object_max_bytes < largest.size_bytes);
    return TAU_OK;
}

size_t tau_tlb_color_object_max_bytes(const struct tau_tlb_color *heap) {
    return heap->object_max_bytes;
}

// ---- Calls -------------------------------------------------------------------------------------

// Whether the word before POINTER lies in a page of the heap. NULL does not.
TAU_SHARED bool tlb_color_is_inside(const struct tau_tlb_color *heap, const void *pointer) {
    const uintptr_t offset = (uintptr_t)pointer - heap->lowest;
    TAU_ASSERT(heap->blocks != NULL);
    return TAU_ON_LONGEST_PATH(offset < heap->span_bytes) && tlb_color_is_handed_out(heap, offset);
}

TAU_SHARED enum tau_status tlb_color_foreign(const struct tau_tlb_color *heap,
                                             const void *pointer) {
    TAU_ASSERT(heap->blocks != NULL);
    if (pointer == NULL) {
        return TAU_OK;
    }
    TAU_PORT_MISUSE(heap->blocks, pointer, TAU_FOREIGN_POINTER);
    return TAU_FOREIGN_POINTER;
}

void *tau_tlb_color_malloc(struct tau_tlb_color *heap, size_t size_bytes) {
    return tau_tlsf_malloc(heap->blocks, size_bytes);
}

void *tau_tlb_color_calloc(struct tau_tlb_color *heap, size_t count, size_t size_bytes) {
    return tau_tlsf_calloc(heap->blocks, count, size_bytes);
}

void *tau_tlb_color_aligned_alloc(struct tau_tlb_color *heap, size_t alignment, size_t size_bytes) {
    return tau_tlsf_aligned_alloc(heap->blocks, alignment, size_bytes);
}

void *tau_tlb_color_realloc(struct tau_tlb_color *heap, void *pointer, size_t size_bytes) {
    if (pointer != NULL && !tlb_color_is_inside(heap, pointer)) {
        (void)tlb_color_foreign(heap, pointer);
        return NULL;
    }
    return tau_tlsf_realloc(heap->blocks, pointer, size_bytes);
}

enum tau_status tau_tlb_color_free(struct tau_tlb_color *heap, void *pointer) {
    if (TAU_ON_LONGEST_PATH(tlb_color_is_inside(heap, pointer))) {
        return tau_tlsf_free(heap->blocks, pointer);
    }
    return tlb_color_foreign(heap, pointer);
}

size_t tau_tlb_color_usable_size(const struct tau_tlb_color *heap, const void *pointer) {
    return tlb_color_is_inside(heap, pointer) ? tau_tlsf_usable_size(heap->blocks, pointer) : 0;
}

// The plain page table. Its walks are inlined in pagetable_inline.h.
#include "peers/conventional/pagetable.h"

#include "core/private/memory.h"
#include "peers/conventional/pagetable_inline.h"

static size_t pagetable_words_of_bits(unsigned pages_log2) {
    TAU_ASSERT(pages_log2 >= TAU_SPACE_PAGES_LOG2_MIN);
    TAU_ASSERT(pages_log2 <= TAU_SPACE_PAGES_LOG2_MAX);
    return (((size_t)1 << pages_log2) + 31) / 32;
}

size_t tau_pagetable_size_bytes(unsigned pages_log2, enum tau_pagetable_walk walk) {
    if (pages_log2 < TAU_SPACE_PAGES_LOG2_MIN || pages_log2 > TAU_SPACE_PAGES_LOG2_MAX) {
        return 0;
    }
    const size_t entries = (size_t)1 << pages_log2;
    const size_t words = walk == TAU_PAGETABLE_MAPPED ? pagetable_words_of_bits(pages_log2) : 0;
    TAU_ASSERT(words <= entries);
    TAU_ASSERT(entries <= TAU_NUMBER_MASK);
    return (entries + words) * sizeof(uint32_t);
}

enum tau_status tau_pagetable_init(struct tau_pagetable *table, void *memory, size_t size_bytes,
                                   unsigned pages_log2, struct tau_frames *frames,
                                   enum tau_pagetable_walk walk) {
    if (pages_log2 < TAU_SPACE_PAGES_LOG2_MIN) {
        return TAU_SPACE_TOO_SMALL;
    }
    if (pages_log2 > TAU_SPACE_PAGES_LOG2_MAX) {
        return TAU_SPACE_TOO_LARGE;
    }
    if (frames == NULL || (walk != TAU_PAGETABLE_RESERVED && walk != TAU_PAGETABLE_MAPPED) ||
        size_bytes < tau_pagetable_size_bytes(pages_log2, walk) ||
        !memory_holds(memory, tau_pagetable_size_bytes(pages_log2, walk))) {
        return TAU_BAD_ARGUMENT;
    }
    table->entries = memory;
    table->pages_count = UINT32_C(1) << pages_log2;
    table->mapped = walk == TAU_PAGETABLE_MAPPED ? table->entries + table->pages_count : NULL;
    table->mapped_pages = 0;
    table->frames = frames;
    const size_t words = tau_pagetable_size_bytes(pages_log2, walk) / sizeof(uint32_t);
    for (size_t i = 0; i < words; i++) {  // bound: one word and one bit per page
        table->entries[i] = 0;
    }
    TAU_ASSERT(words >= table->pages_count);
    TAU_ASSERT(tau_pagetable_invariants_hold(table));
    return TAU_OK;
}

enum tau_status tau_pagetable_map_page(struct tau_pagetable *table, struct tau_page page,
                                       uint32_t rights) {
    TAU_INVARIANT(tau_pagetable_invariants_hold(table));
    if (page.number - 1 >= table->pages_count - 1) {
        return page.number == 0 ? TAU_PAGE_ZERO : TAU_PAGE_OUTSIDE;
    }
    if (rights == 0 || (rights & ~TAU_RIGHTS) != 0) {
        return TAU_BAD_ARGUMENT;
    }
    if (pagetable_is_mapped(table, page.number)) {
        return TAU_PAGE_MAPPED;
    }
    uint32_t frame;
    if (!frames_take_clean(table->frames, &frame)) {
        return TAU_NO_FRAME;
    }
    pagetable_enter(table, page.number, frame, rights);
    TAU_ASSERT(pagetable_is_mapped(table, page.number));
    return TAU_OK;
}

// Unmaps the pages of BITS. All of them are set in WORD.
TAU_SHARED void pagetable_forget_bits(struct tau_pagetable *table, uint32_t *word, uint32_t bits,
                                      struct pagetable_chain *chain) {
    const uint32_t base = (uint32_t)(word - table->mapped) * 32;
    TAU_ASSERT((*word & bits) == bits);
    TAU_ASSERT(base < table->pages_count);
    *word ^= bits;
    if (bits == ~UINT32_C(0)) {
        pagetable_forget(table, base, base + 32, chain);
        return;
    }
    while (bits != 0) {  // bound: 32
        const unsigned index = tau_bits_first(bits);
        uint32_t *const entry = &table->entries[base + index];
        pagetable_collect(*entry, chain);
        *entry = 0;
        bits ^= tau_bits_mask(index);
    }
}

// Unmaps the pages from FIRST to END - 1, at least one, by the bits that say which are mapped. If
// none of 32 pages is mapped, one test skips them. If all are, no bit scan is needed.
TAU_SHARED void pagetable_forget_mapped(struct tau_pagetable *table, uint32_t first, uint32_t end,
                                        struct pagetable_chain *chain) {
    uint32_t *word = &table->mapped[first >> 5];
    uint32_t *const last = &table->mapped[(end - 1) >> 5];
    uint32_t within = tau_bits_from(first & 31u);
    TAU_ASSERT(first < end);
    TAU_ASSERT(end <= table->pages_count);
    for (;;) {  // bound: the words of the range
        if (word == last) {
            within &= ~tau_bits_above((end - 1) & 31u);
        }
        const uint32_t bits = *word & within;
        if (bits != 0) {
            pagetable_forget_bits(table, word, bits, chain);
        }
        if (word == last) {
            return;
        }
        do {  // bound: the same words
            word++;
        } while (word != last && *word == 0);
        within = ~UINT32_C(0);
    }
}

void tau_pagetable_unmap_mapped(struct tau_pagetable *table, uint32_t first, uint32_t end) {
    struct tau_frame_list *const released = table->frames->released;
    struct pagetable_chain chain = {table->frames->links, released->head, 0};
    TAU_ASSERT(table->mapped != NULL);
    TAU_ASSERT(end <= table->pages_count);
    if (first < end) {
        pagetable_forget_mapped(table, first, end, &chain);
    }
    released->head = chain.newest;
    released->count += chain.count;
    TAU_ASSERT(chain.count <= table->mapped_pages);
    table->mapped_pages -= chain.count;
}

enum tau_status tau_pagetable_unmap(struct tau_pagetable *table, struct tau_page start,
                                    uint32_t pages) {
    TAU_INVARIANT(tau_pagetable_invariants_hold(table));
    if (start.number - 1 >= table->pages_count - 1) {
        return start.number == 0 ? TAU_PAGE_ZERO : TAU_PAGE_OUTSIDE;
    }
    if (pages > table->pages_count - start.number) {
        return TAU_REGION_TOO_LARGE;
    }
    pagetable_unmap(table, start.number, start.number + pages);
    TAU_ASSERT(table->mapped_pages < table->pages_count);
    return TAU_OK;
}

enum tau_status tau_pagetable_translate(const struct tau_pagetable *table, struct tau_page page,
                                        uint32_t access, struct tau_frame *frame) {
    TAU_ASSERT(frame != NULL);
    TAU_ASSERT((access & ~TAU_RIGHTS) == 0);
    if (page.number >= table->pages_count || !pagetable_is_mapped(table, page.number)) {
        return TAU_NOT_IN_REGION;
    }
    const uint32_t entry = table->entries[page.number];
    frame->number = entry & TAU_NUMBER_MASK;
    return (access & ~entry) == 0 ? TAU_OK : TAU_ACCESS_DENIED;
}

bool tau_pagetable_invariants_hold(const struct tau_pagetable *table) {
    return table->entries != NULL && table->frames != NULL && table->entries[0] == 0 &&
           table->mapped_pages < table->pages_count &&
           (table->mapped == NULL || table->mapped == table->entries + table->pages_count);
}

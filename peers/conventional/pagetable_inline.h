// The plain page table's operations, inlined. pagetable.c and the conventional heap include this.
#ifndef TAU_PAGETABLE_INLINE_H
#define TAU_PAGETABLE_INLINE_H

#include "core/private/bits_map.h"
#include "core/private/check.h"
#include "core/private/inline.h"
#include "core/private/pages/frames_inline.h"
#include "peers/conventional/pagetable.h"

// The pool's list of released frames while a walk extends it in registers.
struct pagetable_chain {
    uint32_t *links;
    uint32_t newest;
    uint32_t count;
};

TAU_SHARED bool pagetable_is_mapped(const struct tau_pagetable *table, uint32_t page) {
    TAU_ASSERT(page < table->pages_count);
    return table->entries[page] != 0;
}

// Maps PAGE, which is not mapped, to FRAME with RIGHTS, which are not 0.
TAU_SHARED void pagetable_enter(struct tau_pagetable *table, uint32_t page, uint32_t frame,
                                uint32_t rights) {
    TAU_ASSERT(!pagetable_is_mapped(table, page));
    TAU_ASSERT((rights & ~TAU_RIGHTS) == 0);
    TAU_ASSERT(rights != 0);
    table->entries[page] = frame | rights;
    table->mapped_pages++;
    if (table->mapped != NULL) {
        table->mapped[page >> 5] |= tau_bits_mask(page & 31u);
    }
}

// Adds the frame of ENTRY, which is mapped, to CHAIN.
TAU_SHARED void pagetable_collect(uint32_t entry, struct pagetable_chain *chain) {
    const uint32_t frame = entry & TAU_NUMBER_MASK;
    TAU_ASSERT(entry != 0);
    TAU_ASSERT(chain->links[frame] != FRAMES_ABSENT);
    chain->links[frame] = chain->newest;
    chain->newest = frame;
    chain->count++;
}

// Clears the entries of the pages from FIRST to END - 1, mapped or not. This is the walk of
// TAU_PAGETABLE_RESERVED.
// Cost: 4 RV32IMC instructions per unmapped page, 11 per mapped page.
TAU_SHARED void pagetable_forget(struct tau_pagetable *table, uint32_t first, uint32_t end,
                                 struct pagetable_chain *chain) {
    uint32_t *entry = &table->entries[first];
    uint32_t *const behind = &table->entries[end];
    TAU_ASSERT(first <= end);
    TAU_ASSERT(end <= table->pages_count);
    for (; entry != behind; entry++) {  // bound: end - first
        const uint32_t value = *entry;
        // Declared rare, so that the compiler computes nothing for it before the test.
        if (__builtin_expect_with_probability(value != 0, 1, 0.39)) {
            pagetable_collect(value, chain);
            *entry = 0;
        }
    }
}

// Unmaps every mapped page from FIRST to END - 1 and releases the frames.
TAU_SHARED void pagetable_unmap(struct tau_pagetable *table, uint32_t first, uint32_t end) {
    struct tau_frame_list *const released = table->frames->released;
    struct pagetable_chain chain = {table->frames->links, released->head, 0};
    TAU_ASSERT(first <= end);
    TAU_ASSERT(end <= table->pages_count);
    if (table->mapped != NULL) {
        tau_pagetable_unmap_mapped(table, first, end);
        return;
    }
    pagetable_forget(table, first, end, &chain);
    released->head = chain.newest;
    released->count += chain.count;
    table->mapped_pages -= chain.count;
}

#endif

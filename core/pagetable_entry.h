// The plain page table's operations, inlined, for pagetable.c and the conventional heap.
#ifndef TAU_PAGETABLE_ENTRY_H
#define TAU_PAGETABLE_ENTRY_H

#include "core/bits.h"
#include "core/check.h"
#include "core/frames_list.h"
#include "core/link.h"
#include "core/pagetable.h"

// The pool's list of given-up frames, as a walk grows it in registers.
struct pagetable_chain {
    uint32_t *links;
    uint32_t newest;
    uint32_t count;
};

TAU_INLINE bool pagetable_is_mapped(const struct tau_pagetable *table, uint32_t page) {
    TAU_ASSERT(page < table->pages_count);
    return table->entries[page] != 0;
}

// Maps PAGE, which is not mapped, to FRAME with RIGHTS, at least one.
TAU_INLINE void pagetable_enter(struct tau_pagetable *table, uint32_t page, uint32_t frame,
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

// Gives the frame of ENTRY, which is mapped, back.
TAU_INLINE void pagetable_collect(uint32_t entry, struct pagetable_chain *chain) {
    const uint32_t frame = entry & TAU_NUMBER_MASK;
    TAU_ASSERT(entry != 0);
    TAU_ASSERT(chain->links[frame] != FRAME_ABSENT);
    chain->links[frame] = chain->newest;
    chain->newest = frame;
    chain->count++;
}

// Forgets the pages from FIRST to before END, some mapped and some not. The walk of all reserved
// pages: 4 instructions of RV32IMC for a page that is not mapped, 11 for one that is.
TAU_INLINE void pagetable_forget(struct tau_pagetable *table, uint32_t first, uint32_t end,
                                 struct pagetable_chain *chain) {
    uint32_t *entry = &table->entries[first];
    uint32_t *const behind = &table->entries[end];
    TAU_ASSERT(first <= end);
    TAU_ASSERT(end <= table->pages_count);
    for (; entry != behind; entry++) {  // bound: end - first
        const uint32_t value = *entry;
        // Said to be rare, so that the compiler computes nothing for it before the test.
        if (__builtin_expect_with_probability(value != 0, 1, 0.39)) {
            pagetable_collect(value, chain);
            *entry = 0;
        }
    }
}

// Forgets the pages of BITS, which stand for the 32 pages from BASE on and are all mapped.
TAU_INLINE void pagetable_forget_bits(struct tau_pagetable *table, uint32_t base, uint32_t bits,
                                      struct pagetable_chain *chain) {
    TAU_ASSERT((base & 31u) == 0);
    TAU_ASSERT(base < table->pages_count);
    while (bits != 0) {  // bound: 32
        const unsigned index = tau_bits_first(bits);
        uint32_t *const entry = &table->entries[base + index];
        pagetable_collect(*entry, chain);
        *entry = 0;
        bits ^= tau_bits_mask(index);
    }
}

// The same for FIRST to before END, by the bits that say which pages are mapped: one look at 32
// pages of which none is mapped, no look at the bits of 32 of which all are.
TAU_INLINE void pagetable_forget_mapped(struct tau_pagetable *table, uint32_t first, uint32_t end,
                                        struct pagetable_chain *chain) {
    TAU_ASSERT(first < end);
    TAU_ASSERT(table->mapped != NULL);
    uint32_t base = first & ~UINT32_C(31);
    uint32_t within = tau_bits_from(first & 31u);
    for (; base < end; base += 32) {  // bound: a step a word of the range
        uint32_t *const word = &table->mapped[base >> 5];
        if (end - base < 32) {
            within &= ~tau_bits_from((unsigned)(end - base));
        }
        const uint32_t bits = *word & within;
        within = ~UINT32_C(0);
        if (bits == 0) {
            continue;
        }
        *word ^= bits;
        if (bits == ~UINT32_C(0)) {
            pagetable_forget(table, base, base + 32, chain);
        } else {
            pagetable_forget_bits(table, base, bits, chain);
        }
    }
}

// Unmaps every mapped page from FIRST to before END and gives the frames back.
TAU_INLINE void pagetable_unmap(struct tau_pagetable *table, uint32_t first, uint32_t end) {
    struct tau_frame_list *const released = table->frames->released;
    struct pagetable_chain chain = {table->frames->links, released->head, 0};
    TAU_ASSERT(first <= end);
    TAU_ASSERT(end <= table->pages_count);
    if (table->mapped == NULL) {
        pagetable_forget(table, first, end, &chain);
    } else if (first != end) {
        pagetable_forget_mapped(table, first, end, &chain);
    }
    released->head = chain.newest;
    released->count += chain.count;
    TAU_ASSERT(chain.count <= table->mapped_pages);
    table->mapped_pages -= chain.count;
}

#endif

// One array of a simulated TLB: its entries, and which of them a replacement policy evicts.
#ifndef TAU_TLB_REPLACEMENT_H
#define TAU_TLB_REPLACEMENT_H

#include "tool/native/tlb/simulator.h"

struct tau_tlb_entry {
    uint64_t key;       // The translated page; 0: none.
    uint64_t last_use;  // LRU: time of the last use.
    uint32_t owner;     // Who made the access that filled it.
    uint32_t is_used;   // NRU: used since all were marked used.
};

struct tau_tlb_level {
    uint32_t sets_count;
    uint32_t ways;
    uint32_t leaves;  // The least power of two that is at least `ways`.
    uint32_t number;  // The LFSR.
    enum tau_tlb_policy policy;
    uint64_t now;                   // Uses so far.
    struct tau_tlb_entry *entries;  // [set][way].
    uint32_t *used_counts;          // NRU: of each set.
    uint8_t *older;                 // PLRU: [set][node], 1: the right side. The root is node 1.
};

// Fails if and only if memory is short; the level can be closed all the same.
bool tau_tlb_level_open(struct tau_tlb_level *level, const struct tau_tlb_color_array *array,
                        enum tau_tlb_policy policy, uint16_t seed);
void tau_tlb_level_close(struct tau_tlb_level *level);

// Whether SET has KEY; it is used now.
bool tau_tlb_level_touch(struct tau_tlb_level *level, uint32_t set, uint64_t key);
// Puts KEY, which SET does not have, into it. Returns the evicted entry; its key is 0 if a way was
// empty.
struct tau_tlb_entry tau_tlb_level_fill(struct tau_tlb_level *level, uint32_t set, uint64_t key,
                                        uint32_t owner);

#endif

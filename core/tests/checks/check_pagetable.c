// See check_pagetable.h. Written from docs/spec/conventional.md.
#include "core/tests/checks/check_pagetable.h"

#include "core/private/bits_map.h"

// [PT-2]: an entry is 0, or has a right and a frame of the machine, and nothing else.
static bool entry_holds(const struct tau_pagetable *table, uint32_t entry) {
    return entry == 0 ||
           ((entry & TAU_RIGHTS) != 0 && (entry & ~(TAU_RIGHTS | TAU_NUMBER_MASK)) == 0 &&
            (entry & TAU_NUMBER_MASK) < table->frames->frames_count);
}

unsigned check_pagetable(const struct tau_pagetable *table, unsigned char *places) {
    uint32_t mapped_pages = 0;
    if (!tau_pagetable_invariants_hold(table)) {
        return 1;
    }
    for (uint32_t page = 0; page < table->pages_count; page++) {
        const uint32_t entry = table->entries[page];
        if (!entry_holds(table, entry)) {
            return 2;
        }
        if (table->mapped != NULL &&
            (entry != 0) != ((table->mapped[page / 32] & tau_bits_mask(page % 32)) != 0)) {
            return 3;
        }
        if (entry != 0) {
            places[entry & TAU_NUMBER_MASK]++;
            mapped_pages++;
        }
    }
    if (table->mapped != NULL && table->pages_count < 32 &&
        (table->mapped[0] & tau_bits_from((unsigned)table->pages_count)) != 0) {
        return 3;
    }
    return mapped_pages == table->mapped_pages ? 0 : 4;
}

// Entries of Sv39 tables and the way to a region's slot, inlined, for code that changes tables.
#ifndef TAU_SV39_INLINE_H
#define TAU_SV39_INLINE_H

#include "core/ports/sv39.h"
#include "core/private/bits.h"
#include "core/private/check.h"
#include "core/private/inline.h"

#define SV39_ENTRIES 512u
#define SV39_ENTRY_VALID (UINT64_C(1) << 0)
#define SV39_ENTRY_LEAF (UINT64_C(7) << 1)  // R, W, X; an entry of a table has none of them
#define SV39_ENTRY_USER (UINT64_C(1) << 4)
#define SV39_ENTRY_ACCESSED (UINT64_C(1) << 6)
#define SV39_ENTRY_DIRTY (UINT64_C(1) << 7)
#define SV39_ENTRY_OWN (UINT64_C(1) << 8)  // for software: all tables below belong to one region
#define SV39_ENTRY_NUMBER_SHIFT 10u
#define SV39_ENTRY_RIGHTS_SHIFT 26u  // from TAU_READ, _WRITE, _EXECUTE to R, W, X

_Static_assert(TAU_PAGE_LOG2 == 12, "Sv39 has pages of 4 KiB");
_Static_assert((TAU_RIGHTS >> SV39_ENTRY_RIGHTS_SHIFT) == SV39_ENTRY_LEAF,
               "rights are in R, W, X order");
_Static_assert(sizeof(struct tau_sv39_table) == 32, "a record is found by a shift");

// Address of the table in FRAME, as the core sees it.
TAU_SHARED uint64_t *sv39_table_at(const struct tau_sv39 *space, uint32_t frame) {
    TAU_ASSERT(frame < space->tables->frames_count);
    return (uint64_t *)(void *)(space->tables->memory + ((size_t)frame << TAU_PAGE_LOG2));
}

// Frame of the table whose entry is at SLOT.
TAU_SHARED uint32_t sv39_frame_of(const struct tau_sv39 *space, const uint64_t *slot) {
    const size_t distance =
        (size_t)((const unsigned char *)(const void *)slot - space->tables->memory);
    TAU_ASSERT(distance >> TAU_PAGE_LOG2 < space->tables->frames_count);
    return (uint32_t)(distance >> TAU_PAGE_LOG2);
}

TAU_SHARED uint32_t sv39_entry_frame(const struct tau_sv39 *space, uint64_t entry) {
    TAU_ASSERT((entry & SV39_ENTRY_VALID) != 0);
    return (uint32_t)((entry >> SV39_ENTRY_NUMBER_SHIFT) - space->physical_first);
}

TAU_SHARED uint64_t sv39_entry(const struct tau_sv39 *space, uint32_t frame, uint64_t flags) {
    TAU_ASSERT(frame < space->tables->frames_count);
    return ((space->physical_first + frame) << SV39_ENTRY_NUMBER_SHIFT) | flags;
}

TAU_SHARED uint64_t *sv39_next(const struct tau_sv39 *space, uint64_t entry) {
    TAU_ASSERT((entry & SV39_ENTRY_LEAF) == 0);
    return sv39_table_at(space, sv39_entry_frame(space, entry));
}

// Whether a space can map PAGE.
TAU_SHARED bool sv39_is_inside(struct tau_page page) {
    return page.number - 1 < (UINT32_C(1) << TAU_SV39_PAGES_LOG2) - 1;
}

// The entry that PAGE's region hangs from, or NULL if PAGE is in no region's slot. Both kinds of
// slot take the same steps: the position in the shared table is computed, then one of two addresses
// is read.
TAU_SHARED uint64_t *sv39_slot(const struct tau_sv39 *space, struct tau_page page) {
    uint64_t *slot = &space->root[page.number >> TAU_SV39_LARGE_LOG2];
    const uint64_t entry = *slot;
    TAU_ASSERT(sv39_is_inside(page));
    if (entry == 0) {
        return NULL;
    }
    uint64_t *below = tau_bits_hold_pointer(
        &sv39_next(space, entry)[(page.number >> TAU_SV39_SMALL_LOG2) % SV39_ENTRIES]);
    if ((entry & SV39_ENTRY_OWN) == 0) {
        slot = below;
    }
    slot = tau_bits_hold_pointer(slot);
    TAU_ASSERT(*slot == 0 || (*slot & SV39_ENTRY_OWN) != 0);
    return *slot == 0 ? NULL : slot;
}

#endif

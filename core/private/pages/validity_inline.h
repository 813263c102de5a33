// The pages validity array's operations, inlined. Only the mechanisms that use it include this.
#ifndef TAU_VALIDITY_INLINE_H
#define TAU_VALIDITY_INLINE_H

#include "core/private/check.h"
#include "core/private/inline.h"
#include "core/validity.h"

// State of a region in its word `top`, next to sp and rights. A FREE region has no mapped page.
#define VALIDITY_STATE (UINT32_C(3) << 30)
#define VALIDITY_FREE (UINT32_C(0) << 30)
#define VALIDITY_OPEN (UINT32_C(1) << 30)       // any page of it may be mapped
#define VALIDITY_HEAP_HEAD (UINT32_C(2) << 30)  // of a heap: only its first page may be mapped
#define VALIDITY_HEAP_OPEN (UINT32_C(3) << 30)  // of a heap: any page of it may be mapped

// Top of the stack of the region with word TOP. It is the region's start - 1 if no page is mapped.
TAU_SHARED uint32_t validity_sp(uint32_t top) {
    return top & TAU_NUMBER_MASK;
}

TAU_SHARED uint32_t validity_flags(uint32_t top) {
    return top & ~TAU_NUMBER_MASK;
}

TAU_SHARED bool validity_lookup(const struct tau_validity *validity, uint32_t page,
                                uint32_t *entry) {
    TAU_ASSERT(page < validity->pages_count);
    const uint32_t start = validity->regions[page].cache;
    const uint32_t place = validity->stacks[page].helper;
    *entry = validity->data[page];
    if (start == 0 || start > page) {
        return false;
    }
    const uint32_t sp = validity_sp(validity->regions[start].top);
    TAU_ASSERT(sp < validity->pages_count);
    return start <= place && place <= sp && validity->stacks[place].page == page;
}

// Whether PAGE, in the region that starts at START, is mapped. It does not read the cache.
TAU_SHARED bool validity_is_mapped(const struct tau_validity *validity, uint32_t start,
                                   uint32_t page) {
    const uint32_t place = validity->stacks[page].helper;
    TAU_ASSERT(start <= page);
    TAU_ASSERT(page < validity->pages_count);
    return start <= place && place <= validity_sp(validity->regions[start].top) &&
           validity->stacks[place].page == page;
}

// Frame of the page at index PLACE of a stack. There must be one.
TAU_SHARED uint32_t validity_frame_at(const struct tau_validity *validity, uint32_t place) {
    const uint32_t page = validity->stacks[place].page;
    TAU_ASSERT(page < validity->pages_count);
    return validity->data[page] & TAU_NUMBER_MASK;
}

// Maps PAGE of the region that starts at START to FRAME. Unless it is the region's first mapped
// page, FRAME is linked to the frame mapped before it.
TAU_SHARED void validity_push(struct tau_validity *validity, uint32_t *links, uint32_t start,
                              uint32_t page, uint32_t frame) {
    const uint32_t top = validity->regions[start].top;
    const uint32_t place = validity_sp(top) + 1;
    TAU_ASSERT(start <= page);
    TAU_ASSERT(page < validity->pages_count);
    TAU_ASSERT(place >= start);
    if (place != start) {
        links[frame] = validity_frame_at(validity, place - 1);
    }
    validity->regions[start].top = top + 1;
    validity->regions[page].cache = start;
    validity->stacks[page].helper = place;
    validity->stacks[place].page = page;
    validity->data[page] = frame | (top & TAU_RIGHTS);
}

#endif

// Lookups in hierarchical tables, inlined: chunks, their records, and the regions that start in
// them.
#ifndef TAU_HIERARCHY_INLINE_H
#define TAU_HIERARCHY_INLINE_H

#include "core/hierarchy.h"
#include "core/private/pages/region_tree_inline.h"
#include "core/private/pages/validity_inline.h"

#define HIERARCHY_CHUNK_LOG2 TAU_HIERARCHY_CHUNK_LOG2
#define HIERARCHY_CHUNK_PAGES TAU_HIERARCHY_CHUNK_PAGES

_Static_assert(sizeof(struct tau_hierarchy_record) == 67 * sizeof(uint32_t), "no padding");
_Static_assert(HIERARCHY_CHUNK_PAGES == 32, "a bit of a word a page");

// Position of a region's start: in chunk entry CHUNK, at PLACE of RECORD.
struct hierarchy_spot {
    struct tau_hierarchy_record *record;
    uint32_t chunk;
    uint32_t place;
};

// Entry of the chunk that contains PAGE. hierarchy_place_of is the page's place there.
TAU_SHARED uint32_t hierarchy_chunk_of(uint32_t page) {
    return (page >> HIERARCHY_CHUNK_LOG2) + 1;
}

TAU_SHARED uint32_t hierarchy_place_of(uint32_t page) {
    return ~page & (HIERARCHY_CHUNK_PAGES - 1);
}

// The page at PLACE of CHUNK.
TAU_SHARED uint32_t hierarchy_page_at(uint32_t chunk, uint32_t place) {
    TAU_ASSERT(chunk != 0);
    TAU_ASSERT(place < HIERARCHY_CHUNK_PAGES);
    return (chunk << HIERARCHY_CHUNK_LOG2) - 1 - place;
}

TAU_SHARED uint32_t hierarchy_sp_of(const struct tau_hierarchy *space, uint32_t chunk) {
    TAU_ASSERT(chunk != 0);
    TAU_ASSERT(chunk < space->chunks.pages_count);
    return space->chunks.regions[chunk].top;
}

// Whether a region starts in CHUNK. Only then has CHUNK a stack, whose first entry is CHUNK itself.
TAU_SHARED bool hierarchy_has_start(const struct tau_hierarchy *space, uint32_t chunk) {
    return hierarchy_sp_of(space, chunk) >= chunk;
}

// The record of CHUNK, which has one.
TAU_SHARED struct tau_hierarchy_record *hierarchy_record_of(const struct tau_hierarchy *space,
                                                            uint32_t chunk) {
    const uint32_t record = space->chunks.data[chunk];
    TAU_ASSERT(chunk < space->chunks.pages_count);
    TAU_ASSERT(record < space->tables->free.frames_count);
    return &space->records[record];
}

// The last region that starts in a chunk before CHUNK, which is not chunk 0.
TAU_SHARED struct hierarchy_spot hierarchy_find_in_front(const struct tau_hierarchy *space,
                                                         uint32_t chunk) {
    TAU_ASSERT(chunk >= 2);
    const struct tau_page before = {chunk - 2};
    struct hierarchy_spot spot = {.chunk = region_tree_find(&space->tree, before).number + 1};
    spot.record = hierarchy_record_of(space, spot.chunk);
    TAU_ASSERT(spot.record->starts != 0);
    spot.place = tau_bits_first(spot.record->starts);
    return spot;
}

// The record of CHUNK if a region starts there, else NULL.
TAU_SHARED struct tau_hierarchy_record *
hierarchy_record_with_start(const struct tau_hierarchy *space, uint32_t chunk) {
    return hierarchy_has_start(space, chunk) ? hierarchy_record_of(space, chunk) : NULL;
}

// The region that contains PAGE. OWN is hierarchy_record_with_start of its chunk.
TAU_SHARED struct hierarchy_spot hierarchy_find(const struct tau_hierarchy *space, uint32_t page,
                                                struct tau_hierarchy_record *own) {
    const uint32_t chunk = hierarchy_chunk_of(page);
    if (own != NULL) {
        const uint32_t rest = own->starts & tau_bits_from(hierarchy_place_of(page));
        if (rest != 0) {
            return (struct hierarchy_spot){own, chunk, tau_bits_first(rest)};
        }
    }
    TAU_ASSERT(chunk != 1);  // page 0 starts a region
    TAU_ASSERT((own != NULL) == hierarchy_has_start(space, chunk));
    return hierarchy_find_in_front(space, chunk);
}

// The last region before the one at SPOT, which is not page 0's.
TAU_SHARED struct hierarchy_spot hierarchy_find_before(const struct tau_hierarchy *space,
                                                       const struct hierarchy_spot *spot) {
    const uint32_t rest = spot->record->starts & tau_bits_above(spot->place);
    TAU_ASSERT(spot->chunk != 1 || rest != 0);
    if (rest == 0) {
        return hierarchy_find_in_front(space, spot->chunk);
    }
    return (struct hierarchy_spot){spot->record, spot->chunk, tau_bits_first(rest)};
}

// The first region after the one at SPOT. Returns false if there is none.
TAU_SHARED bool hierarchy_find_next(const struct tau_hierarchy *space,
                                    const struct hierarchy_spot *spot,
                                    struct hierarchy_spot *next) {
    *next = *spot;
    uint32_t behind = spot->record->starts & ~tau_bits_from(spot->place);
    if (behind == 0) {
        struct tau_page chunk;
        if (!region_tree_next(&space->tree, (struct tau_page){spot->chunk - 1}, &chunk)) {
            return false;
        }
        next->chunk = chunk.number + 1;
        next->record = hierarchy_record_of(space, next->chunk);
        behind = next->record->starts;
    }
    TAU_ASSERT(next->chunk >= spot->chunk);
    TAU_ASSERT(behind != 0);
    next->place = tau_bits_last(behind);
    return true;
}

TAU_SHARED uint32_t *hierarchy_header_of(const struct hierarchy_spot *spot) {
    TAU_ASSERT(spot->place < HIERARCHY_CHUNK_PAGES);
    TAU_ASSERT((spot->record->starts & tau_bits_mask(spot->place)) != 0);
    return &spot->record->header[spot->place + 1];
}

TAU_SHARED bool hierarchy_is_free(const struct hierarchy_spot *spot) {
    return (*hierarchy_header_of(spot) & VALIDITY_STATE) == VALIDITY_FREE;
}

// Whether the region at SPOT is one page long and the next page of the chunk starts a region. That
// region's header uses the word of the single page's count. The count is not needed: the page's bit
// says the same.
TAU_SHARED bool hierarchy_is_single(const struct hierarchy_spot *spot) {
    TAU_ASSERT(spot->place < HIERARCHY_CHUNK_PAGES);
    TAU_ASSERT(spot->record != NULL);
    const uint32_t starts = spot->record->starts;
#ifdef __arm__  // place 0 is the highest bit there
    const uint32_t behind = starts >> 1;
#else
    const uint32_t behind = starts << 1;
#endif
    return (behind & tau_bits_mask(spot->place)) != 0;
}

#endif

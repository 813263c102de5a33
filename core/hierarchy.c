// Hierarchical tables. Layout and invariants: docs/spec/hierarchy.md. The ideas:
//
// 1. The chunks form regions of their own, the upper regions. Each runs from a chunk in which a
//    region of pages starts to the next such chunk. Only the last region of pages that starts in
//    its first chunk extends beyond that chunk. When that region is unmapped, all records of the
//    upper region except the first are returned at once. This is the page mechanism, one level up.
// 2. Inside a chunk, one store to a word unmaps up to 32 pages. No stack is needed there.
// 3. The record of a chunk is always valid as a whole, because its two bit words are written when
//    it is taken. So only validity.h has to handle hostile memory, and a translation does not read
//    a region's header.
#include "core/hierarchy.h"

#include "core/private/memory.h"
#include "core/private/pages/frames_inline.h"
#include "core/private/pages/hierarchy_inline.h"

#define HIERARCHY_NO_LIMIT UINT32_MAX

// Chunks in which no region starts, between the ends of a region. The region starts in chunk FIRST
// and ends inside chunk LAST or before its first page.
TAU_SHARED uint32_t hierarchy_inner_chunks(uint32_t first, uint32_t last) {
    TAU_ASSERT(first <= last);
    TAU_ASSERT(first != 0);
    return last == first ? 0 : last - first - 1;
}

// Takes a record for CHUNK and pushes CHUNK onto the stack of the upper region that starts at
// FIRST.
TAU_SHARED struct tau_hierarchy_record *hierarchy_take_record(struct tau_hierarchy *space,
                                                              uint32_t first, uint32_t chunk) {
    struct tau_frames *const free = &space->tables->free;
    TAU_ASSERT(first <= chunk);
    TAU_ASSERT(free->ready.count != 0);
    validity_push(&space->chunks, free->links, first, chunk, frames_take(free));
    struct tau_hierarchy_record *const record = hierarchy_record_of(space, chunk);
    record->starts = 0;
    record->mapped = 0;
    return record;
}

// Returns the records of stack entries FIRST … SP of an upper region to the pool.
TAU_SHARED void hierarchy_give_records(struct tau_hierarchy *space, uint32_t first, uint32_t sp) {
    struct tau_frames *const free = &space->tables->free;
    TAU_ASSERT(first <= sp);
    TAU_ASSERT(sp < space->chunks.pages_count);
    frames_splice(free, &free->ready, validity_frame_at(&space->chunks, sp),
                  validity_frame_at(&space->chunks, first), sp - first + 1);
}

// Makes PAGE, which lies in a free region, a start.
static struct hierarchy_spot hierarchy_split(struct tau_hierarchy *space, uint32_t page) {
    struct hierarchy_spot spot = {NULL, hierarchy_chunk_of(page), hierarchy_place_of(page)};
    if (hierarchy_has_start(space, spot.chunk)) {
        spot.record = hierarchy_record_of(space, spot.chunk);
    } else {
        space->chunks.regions[spot.chunk].top = spot.chunk - 1;
        spot.record = hierarchy_take_record(space, spot.chunk, spot.chunk);
        region_tree_split(&space->tree, (struct tau_page){spot.chunk - 1});
    }
    TAU_ASSERT((spot.record->starts & tau_bits_mask(spot.place)) == 0);
    TAU_ASSERT((spot.record->mapped & tau_bits_mask(spot.place)) == 0);
    spot.record->starts |= tau_bits_mask(spot.place);
    return spot;
}

// Joins SPOT's region, which is free, to the region before it. Returns true if no region starts in
// the chunk any more. Its upper region has then joined the one before it too.
TAU_SHARED bool hierarchy_join(struct tau_hierarchy *space, const struct hierarchy_spot *spot) {
    const uint32_t left = spot->record->starts & ~tau_bits_mask(spot->place);
    TAU_ASSERT(hierarchy_is_free(spot));
    spot->record->starts = left;
    if (left != 0) {
        return false;
    }
    TAU_ASSERT(spot->record->mapped == 0);
    space->chunks.regions[spot->chunk].top = spot->chunk - 1;
    region_tree_union(&space->tree, (struct tau_page){spot->chunk - 1});
    return true;
}

size_t tau_hierarchy_tables_size_bytes(uint32_t records_count) {
    const size_t each = sizeof(struct tau_hierarchy_record) + sizeof(uint32_t);
    size_t bytes;
    return __builtin_mul_overflow(records_count, each, &bytes) ? SIZE_MAX : bytes;
}

// Logarithm of the number of chunks of 2^PAGES_LOG2 pages. At least 1: a region tree has at least
// two pages.
static unsigned hierarchy_chunks_log2_of(unsigned pages_log2) {
    const unsigned least = TAU_SPACE_PAGES_LOG2_MIN + HIERARCHY_CHUNK_LOG2;
    TAU_ASSERT(pages_log2 >= TAU_SPACE_PAGES_LOG2_MIN);
    TAU_ASSERT(pages_log2 <= TAU_SPACE_PAGES_LOG2_MAX);
    return (pages_log2 > least ? pages_log2 : least) - HIERARCHY_CHUNK_LOG2;
}

uint32_t tau_hierarchy_tables_enough(unsigned pages_log2, uint32_t regions, uint32_t region_pages,
                                     uint32_t mapped_pages) {
    if (pages_log2 < TAU_SPACE_PAGES_LOG2_MIN || pages_log2 > TAU_SPACE_PAGES_LOG2_MAX) {
        return 0;
    }
    const uint32_t pages_count = UINT32_C(1) << pages_log2;
    const uint32_t chunks = (pages_count + HIERARCHY_CHUNK_PAGES - 1) >> HIERARCHY_CHUNK_LOG2;
    const uint32_t whole = region_pages >> HIERARCHY_CHUNK_LOG2;
    const uint32_t inner = whole < mapped_pages ? whole : mapped_pages;
    TAU_ASSERT(chunks != 0);
    TAU_ASSERT(inner <= whole);
    if (regions >= chunks || inner >= chunks || 1 + 2 * regions + inner >= chunks) {
        return chunks;
    }
    return 1 + 2 * regions + inner;
}

enum tau_status tau_hierarchy_tables_init(struct tau_hierarchy_tables *tables, void *memory,
                                          size_t size_bytes) {
    size_t count = size_bytes / tau_hierarchy_tables_size_bytes(1);
    if (!memory_holds(memory, size_bytes) || count == 0) {
        return TAU_BAD_ARGUMENT;
    }
    if (count > TAU_FRAMES_MAX) {
        count = TAU_FRAMES_MAX;
    }
    uint32_t *const links = memory;
    struct tau_frames all;
    enum tau_status made = tau_frames_init(&all, links, (uint32_t)count, NULL);
    TAU_ASSERT(made == TAU_OK);
    made = tau_frames_add(&all, (struct tau_frame){0}, (uint32_t)count);
    TAU_ASSERT(made == TAU_OK);
    made = tau_frames_reserve(&all, &tables->free, (uint32_t)count);
    TAU_ASSERT(made == TAU_OK);
    (void)made;
    tables->records = (struct tau_hierarchy_record *)(links + count);
    tables->promised = 0;
    return TAU_OK;
}

size_t tau_hierarchy_size_bytes(unsigned pages_log2) {
    if (pages_log2 < TAU_SPACE_PAGES_LOG2_MIN || pages_log2 > TAU_SPACE_PAGES_LOG2_MAX) {
        return 0;
    }
    const unsigned chunks_log2 = hierarchy_chunks_log2_of(pages_log2);
    const size_t tree_bytes = tau_region_tree_size_bytes(chunks_log2);
    TAU_ASSERT(tree_bytes != 0);
    TAU_ASSERT(tree_bytes % sizeof(uint32_t) == 0);
    return tree_bytes + tau_validity_size_bytes((UINT32_C(1) << chunks_log2) + 1);
}

enum tau_status tau_hierarchy_init(struct tau_hierarchy *space, void *memory, size_t size_bytes,
                                   unsigned pages_log2, struct tau_hierarchy_tables *tables,
                                   struct tau_frames *frames, enum tau_hierarchy_policy policy) {
    if (pages_log2 < TAU_SPACE_PAGES_LOG2_MIN) {
        return TAU_SPACE_TOO_SMALL;
    }
    if (pages_log2 > TAU_SPACE_PAGES_LOG2_MAX) {
        return TAU_SPACE_TOO_LARGE;
    }
    if (tables == NULL || frames == NULL || size_bytes < tau_hierarchy_size_bytes(pages_log2) ||
        !memory_holds(memory, tau_hierarchy_size_bytes(pages_log2)) ||
        (policy == TAU_HIERARCHY_COMMIT && frames->released != &frames->ready)) {
        return TAU_BAD_ARGUMENT;
    }
    if (tables->free.ready.count <= tables->promised) {
        return TAU_NO_TABLE;
    }
    const unsigned chunks_log2 = hierarchy_chunks_log2_of(pages_log2);
    const size_t tree_bytes = tau_region_tree_size_bytes(chunks_log2);
    enum tau_status made = tau_region_tree_init(&space->tree, memory, tree_bytes, chunks_log2);
    TAU_ASSERT(made == TAU_OK);
    made = tau_validity_init(&space->chunks, (unsigned char *)memory + tree_bytes,
                             size_bytes - tree_bytes, (UINT32_C(1) << chunks_log2) + 1);
    TAU_ASSERT(made == TAU_OK);
    (void)made;
    space->tables = tables;
    space->records = tables->records;
    space->frames = frames;
    space->pages_count = UINT32_C(1) << pages_log2;
    space->mapped_pages = 0;
    space->committed_pages = 0;
    space->commit_max_pages =
        policy == TAU_HIERARCHY_COMMIT ? tau_frames_free_count(frames) : HIERARCHY_NO_LIMIT;
    struct tau_hierarchy_record *const record = hierarchy_take_record(space, 1, 1);
    record->starts = tau_bits_mask(hierarchy_place_of(0));
    record->header[hierarchy_place_of(0) + 1] = VALIDITY_FREE;
    TAU_ASSERT(tau_hierarchy_invariants_hold(space));
    return TAU_OK;
}

enum tau_status tau_hierarchy_close(struct tau_hierarchy *space) {
    TAU_INVARIANT(tau_hierarchy_invariants_hold(space));
    if (space->committed_pages != 0) {
        return TAU_BAD_ARGUMENT;
    }
    TAU_ASSERT(space->mapped_pages == 0);
    TAU_ASSERT(hierarchy_sp_of(space, 1) == 1);
    hierarchy_give_records(space, 1, 1);
    space->chunks.regions[1].top = 0;
    return TAU_OK;
}

// The first page after the region at SPOT. *NEXT is the region that starts there, if there is one.
TAU_SHARED uint32_t hierarchy_end_of(const struct tau_hierarchy *space,
                                     const struct hierarchy_spot *spot, struct hierarchy_spot *next,
                                     bool *has_next) {
    *has_next = hierarchy_find_next(space, spot, next);
    const uint32_t end =
        *has_next ? hierarchy_page_at(next->chunk, next->place) : space->pages_count;
    TAU_ASSERT(end > hierarchy_page_at(spot->chunk, spot->place));
    TAU_ASSERT(end <= space->pages_count);
    return end;
}

// How a region is cut out of the free region that contains it.
struct hierarchy_cut {
    struct hierarchy_spot spot;  // the free region
    uint32_t end;                // the first page after it
    uint32_t promised;  // records that the new region's faults may take, if the space commits
};

// Why the pages from START to END - 1, inside the space, cannot become a region; else sets *CUT.
static enum tau_status hierarchy_why_not_region(const struct tau_hierarchy *space, uint32_t start,
                                                uint32_t end, struct hierarchy_cut *cut) {
    const struct tau_hierarchy_tables *const tables = space->tables;
    const uint32_t first = hierarchy_chunk_of(start);
    const uint32_t last = hierarchy_chunk_of(end);
    struct hierarchy_spot next;
    bool has_next;
    TAU_ASSERT(start < end);
    TAU_ASSERT(end <= space->pages_count);
    struct tau_hierarchy_record *const own = hierarchy_record_with_start(space, first);
    cut->spot = hierarchy_find(space, start, own);
    cut->end = hierarchy_end_of(space, &cut->spot, &next, &has_next);
    if (!hierarchy_is_free(&cut->spot) || cut->end < end) {
        return TAU_REGION_OVERLAPS;
    }
    if (end - start > space->commit_max_pages - space->committed_pages) {
        return TAU_NOT_ADMITTED;
    }
    uint32_t needed = own == NULL;
    if (end != cut->end && last != first && !hierarchy_has_start(space, last)) {
        needed++;
    }
    cut->promised =
        space->commit_max_pages == HIERARCHY_NO_LIMIT ? 0 : hierarchy_inner_chunks(first, last);
    return needed + cut->promised > tables->free.ready.count - tables->promised ? TAU_NO_TABLE
                                                                                : TAU_OK;
}

enum tau_status tau_hierarchy_map_region(struct tau_hierarchy *space, struct tau_page start,
                                         uint32_t pages, uint32_t rights) {
    TAU_INVARIANT(tau_hierarchy_invariants_hold(space));
    if (pages == 0 || (rights & ~TAU_RIGHTS) != 0) {
        return TAU_BAD_ARGUMENT;
    }
    if (start.number - 1 >= space->pages_count - 1) {
        return start.number == 0 ? TAU_PAGE_ZERO : TAU_PAGE_OUTSIDE;
    }
    if (pages > space->pages_count - start.number) {
        return TAU_REGION_TOO_LARGE;
    }
    struct hierarchy_cut cut;
    const uint32_t end = start.number + pages;
    const enum tau_status reason = hierarchy_why_not_region(space, start.number, end, &cut);
    if (reason != TAU_OK) {
        return reason;
    }
    if (end != cut.end) {
        const struct hierarchy_spot behind = hierarchy_split(space, end);
        *hierarchy_header_of(&behind) = VALIDITY_FREE;
    }
    if (hierarchy_page_at(cut.spot.chunk, cut.spot.place) != start.number) {
        cut.spot = hierarchy_split(space, start.number);
    }
    *hierarchy_header_of(&cut.spot) = VALIDITY_OPEN | rights;
    if (!hierarchy_is_single(&cut.spot)) {
        cut.spot.record->header[cut.spot.place] = 0;
    }
    space->committed_pages += pages;
    space->tables->promised += cut.promised;
    TAU_ASSERT(hierarchy_page_at(cut.spot.chunk, cut.spot.place) == start.number);
    return TAU_OK;
}

// Adds FRAME to the ring of frames of the region at SPOT, which has HEADER. The ring goes from the
// newest frame to the oldest, which links to the newest.
TAU_SHARED void hierarchy_ring_push(struct tau_hierarchy *space, const struct hierarchy_spot *spot,
                                    uint32_t header, uint32_t frame) {
    uint32_t *const links = space->frames->links;
    TAU_ASSERT(frame < space->frames->frames_count);
    TAU_ASSERT(header == *hierarchy_header_of(spot));
    uint32_t count = 0;
    if (!hierarchy_is_single(spot)) {
        count = spot->record->header[spot->place];
        spot->record->header[spot->place] = count + 1;
    }
    if (count == 0) {
        links[frame] = frame;
        *hierarchy_header_of(spot) = (header & ~TAU_NUMBER_MASK) | frame;
    } else {
        const uint32_t oldest = header & TAU_NUMBER_MASK;
        links[frame] = links[oldest];
        links[oldest] = frame;
    }
}

// Whether a fault may take a record.
TAU_SHARED bool hierarchy_has_record(const struct tau_hierarchy *space) {
    const struct tau_hierarchy_tables *const tables = space->tables;
    const bool commits = space->commit_max_pages != HIERARCHY_NO_LIMIT;
    TAU_ASSERT(tables->promised <= tables->free.ready.count);
    TAU_ASSERT(!commits || tables->promised != 0);
    return commits || tables->free.ready.count != tables->promised;
}

// Maps PAGE of the region at SPOT, which has HEADER, to a frame. A frame must be ready. RECORD is
// the record of the page's chunk.
TAU_SHARED enum tau_status hierarchy_enter_page(struct tau_hierarchy *space, uint32_t page,
                                                struct tau_hierarchy_record *record,
                                                const struct hierarchy_spot *spot,
                                                uint32_t header) {
    const uint32_t frame = frames_take(space->frames);
    const uint32_t place = hierarchy_place_of(page);
    TAU_ASSERT((record->mapped & tau_bits_mask(place)) == 0);
    record->mapped |= tau_bits_mask(place);
    record->data[place] = frame | (header & TAU_RIGHTS);
    hierarchy_ring_push(space, spot, header, frame);
    space->mapped_pages++;
    TAU_ASSERT(space->mapped_pages <= space->committed_pages);
    return TAU_OK;
}

// As hierarchy_enter_page, for a chunk without a record. This function and the next are tail calls
// with their arguments in registers, so that a fault in a chunk with a record saves no register.
static __attribute__((noinline)) enum tau_status
hierarchy_enter_page_first(struct tau_hierarchy *space, uint32_t page,
                           struct tau_hierarchy_record *first_record, uint32_t chunk,
                           uint32_t place, uint32_t header) {
    const struct hierarchy_spot spot = {first_record, chunk, place};
    TAU_ASSERT(space->frames->ready.count != 0);
    TAU_ASSERT(header == *hierarchy_header_of(&spot));
    struct tau_hierarchy_record *const record =
        hierarchy_take_record(space, chunk, hierarchy_chunk_of(page));
    if (space->commit_max_pages != HIERARCHY_NO_LIMIT) {
        space->tables->promised--;
    }
    return hierarchy_enter_page(space, page, record, &spot, header);
}

// As hierarchy_enter_page, if no frame is ready: zeroes one first, if the pool has one.
static __attribute__((noinline)) enum tau_status hierarchy_enter_page_zeroed(
    struct tau_hierarchy *space, uint32_t page, struct tau_hierarchy_record *record,
    struct tau_hierarchy_record *first_record, uint32_t chunk, uint32_t place, uint32_t header) {
    const struct hierarchy_spot spot = {first_record, chunk, place};
    TAU_ASSERT(space->frames->ready.count == 0);
    TAU_ASSERT(header == *hierarchy_header_of(&spot));
    if (!tau_frames_clean_one(space->frames)) {
        return TAU_NO_FRAME;
    }
    return record == NULL
               ? hierarchy_enter_page_first(space, page, first_record, chunk, place, header)
               : hierarchy_enter_page(space, page, record, &spot, header);
}

enum tau_status tau_hierarchy_map_page(struct tau_hierarchy *space, struct tau_page page,
                                       uint32_t access) {
    TAU_INVARIANT(tau_hierarchy_invariants_hold(space));
    if (page.number - 1 >= space->pages_count - 1) {
        return page.number == 0 ? TAU_PAGE_ZERO : TAU_PAGE_OUTSIDE;
    }
    const uint32_t chunk = hierarchy_chunk_of(page.number);
    struct tau_hierarchy_record *record = hierarchy_record_with_start(space, chunk);
    const struct hierarchy_spot spot = hierarchy_find(space, page.number, record);
    const uint32_t header = *hierarchy_header_of(&spot);
    if ((header & VALIDITY_STATE) == VALIDITY_FREE) {
        return TAU_NOT_IN_REGION;
    }
    if ((access & ~(header & TAU_RIGHTS)) != 0) {
        return TAU_ACCESS_DENIED;
    }
    if (record == NULL && validity_is_mapped(&space->chunks, spot.chunk, chunk)) {
        record = hierarchy_record_of(space, chunk);
    }
    if (record != NULL && (record->mapped & tau_bits_mask(hierarchy_place_of(page.number))) != 0) {
        return TAU_PAGE_MAPPED;
    }
    if (record == NULL && !hierarchy_has_record(space)) {
        return TAU_NO_TABLE;
    }
    if (__builtin_expect(space->frames->ready.count == 0, 0)) {
        return hierarchy_enter_page_zeroed(space, page.number, record, spot.record, spot.chunk,
                                           spot.place, header);
    }
    return record == NULL ? hierarchy_enter_page_first(space, page.number, spot.record, spot.chunk,
                                                       spot.place, header)
                          : hierarchy_enter_page(space, page.number, record, &spot, header);
}

// Returns the frames of the region at SPOT to the pool.
TAU_SHARED void hierarchy_release_frames(struct tau_hierarchy *space,
                                         const struct hierarchy_spot *spot) {
    const uint32_t oldest = *hierarchy_header_of(spot) & TAU_NUMBER_MASK;
    const uint32_t mapped = spot->record->mapped & tau_bits_mask(spot->place);
    const uint32_t count =
        hierarchy_is_single(spot) ? mapped != 0 : spot->record->header[spot->place];
    TAU_ASSERT(count <= space->mapped_pages);
    if (count != 0) {
        TAU_ASSERT(oldest < space->frames->frames_count);
        frames_release(space->frames, space->frames->links[oldest], oldest, count);
        space->mapped_pages -= count;
    }
}

// Clears the mapped bits of the region at SPOT in its first chunk and in the chunk of the next
// region. The chunks between lose their records.
TAU_SHARED void hierarchy_forget_pages(const struct hierarchy_spot *spot,
                                       const struct hierarchy_spot *next, bool has_next) {
    const uint32_t front = tau_bits_above(spot->place);
    TAU_ASSERT(spot->record != NULL);
    TAU_ASSERT(!has_next || next->record != NULL);
    if (!has_next || next->record != spot->record) {
        spot->record->mapped &= front;
        if (has_next) {
            next->record->mapped &= ~tau_bits_above(next->place);
        }
    } else {
        spot->record->mapped &= front | ~tau_bits_above(next->place);
    }
}

// Joins the region at SPOT, which has become free, to free neighbors, and returns the records that
// are no longer needed. They are at most two chains, one of them with one record.
TAU_SHARED void hierarchy_join_neighbors(struct tau_hierarchy *space,
                                         const struct hierarchy_spot *spot,
                                         const struct hierarchy_spot *next, bool has_next) {
    const uint32_t sp = hierarchy_sp_of(space, spot->chunk);
    bool is_last = !has_next || next->chunk != spot->chunk;
    uint32_t kept = spot->chunk;  // top of the stack afterwards
    TAU_ASSERT(hierarchy_is_free(spot));
    TAU_ASSERT(sp >= spot->chunk);
    if (has_next && hierarchy_is_free(next) && hierarchy_join(space, next)) {
        hierarchy_give_records(space, next->chunk, next->chunk);
    }
    const struct hierarchy_spot before = hierarchy_find_before(space, spot);
    if (hierarchy_is_free(&before) && hierarchy_join(space, spot)) {
        kept--;
        is_last = true;
    }
    if (is_last && sp != kept) {
        hierarchy_give_records(space, kept + 1, sp);
        space->chunks.regions[spot->chunk].top = kept;
    }
}

enum tau_status tau_hierarchy_unmap_region(struct tau_hierarchy *space, struct tau_page start) {
    TAU_INVARIANT(tau_hierarchy_invariants_hold(space));
    if (start.number - 1 >= space->pages_count - 1) {
        return start.number == 0 ? TAU_PAGE_ZERO : TAU_PAGE_OUTSIDE;
    }
    struct hierarchy_spot spot = {NULL, hierarchy_chunk_of(start.number),
                                  hierarchy_place_of(start.number)};
    if (!hierarchy_has_start(space, spot.chunk)) {
        return TAU_NOT_A_REGION;
    }
    spot.record = hierarchy_record_of(space, spot.chunk);
    if ((spot.record->starts & tau_bits_mask(spot.place)) == 0 || hierarchy_is_free(&spot)) {
        return TAU_NOT_A_REGION;
    }
    struct hierarchy_spot next;
    bool has_next;
    const uint32_t end = hierarchy_end_of(space, &spot, &next, &has_next);
    if (space->commit_max_pages != HIERARCHY_NO_LIMIT && (!has_next || next.chunk != spot.chunk)) {
        const uint32_t taken = hierarchy_sp_of(space, spot.chunk) - spot.chunk;
        space->tables->promised -=
            hierarchy_inner_chunks(spot.chunk, hierarchy_chunk_of(end)) - taken;
    }
    hierarchy_release_frames(space, &spot);
    hierarchy_forget_pages(&spot, &next, has_next);
    *hierarchy_header_of(&spot) = VALIDITY_FREE;
    space->committed_pages -= end - start.number;
    hierarchy_join_neighbors(space, &spot, &next, has_next);
    TAU_ASSERT(space->mapped_pages <= space->committed_pages);
    TAU_ASSERT(tau_hierarchy_invariants_hold(space));
    return TAU_OK;
}

enum tau_status tau_hierarchy_translate(const struct tau_hierarchy *space, struct tau_page page,
                                        uint32_t access, struct tau_frame *frame) {
    uint32_t index;
    TAU_ASSERT(frame != NULL);
    TAU_ASSERT((access & ~TAU_RIGHTS) == 0);
    if (page.number >= space->pages_count ||
        !validity_lookup(&space->chunks, hierarchy_chunk_of(page.number), &index)) {
        return TAU_NOT_IN_REGION;
    }
    const struct tau_hierarchy_record *const record = &space->records[index];
    const uint32_t place = hierarchy_place_of(page.number);
    if ((record->mapped & tau_bits_mask(place)) == 0) {
        return TAU_NOT_IN_REGION;
    }
    const uint32_t entry = record->data[place];
    frame->number = entry & TAU_NUMBER_MASK;
    return (access & ~entry) == 0 ? TAU_OK : TAU_ACCESS_DENIED;
}

bool tau_hierarchy_invariants_hold(const struct tau_hierarchy *space) {
    const struct tau_hierarchy_tables *const tables = space->tables;
    if (tables == NULL || space->frames == NULL || !hierarchy_has_start(space, 1) ||
        tables->promised > tables->free.ready.count) {
        return false;
    }
    const struct hierarchy_spot zero = {hierarchy_record_of(space, 1), 1, hierarchy_place_of(0)};
    return (zero.record->starts & tau_bits_mask(zero.place)) != 0 && hierarchy_is_free(&zero) &&
           (zero.record->mapped & tau_bits_mask(zero.place)) == 0 &&
           space->mapped_pages <= space->committed_pages &&
           space->committed_pages < space->pages_count &&
           space->committed_pages <= space->commit_max_pages &&
           tau_region_tree_invariants_hold(&space->tree);
}

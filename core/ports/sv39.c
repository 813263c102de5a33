// Regions on Sv39 tables. Entries and invariants: docs/spec/sv39.md. The steps:
//
// 1. map_region hangs an empty table, which belongs to the region, into the entry of its slot.
// 2. map_page runs at the first access to a page. It writes the page's leaf entry. In a large
//    region it first adds the leaf's level-0 table if that is missing. Pages and tables are added
//    to the two chains of the region's record. The number of the region's first table is the index
//    of that record.
// 3. unmap_region clears the slot's entry, flushes, and puts both chains onto the pools' lists. The
//    tables still hold their entries; the pool zeroes them before their next use.
#include "core/ports/sv39.h"

#include "core/private/pages/frames_inline.h"
#include "core/private/pages/sv39_inline.h"

#define SV39_PHYSICAL_PAGES_MAX (UINT64_C(1) << 44)
#define SV39_SATP_MODE (UINT64_C(8) << 60)
#define SV39_SATP_ASID_SHIFT 44u
#define SV39_ASID_MAX 0xffffu
#define SV39_LEAF_FLAGS                                                                            \
    (SV39_ENTRY_VALID | SV39_ENTRY_USER | SV39_ENTRY_ACCESSED | SV39_ENTRY_DIRTY)

// Takes a frame of POOL, which must have one. It is zeroed if the pool zeroes.
TAU_SHARED uint32_t sv39_take(struct tau_frames *pool) {
    uint32_t frame = 0;
    const bool is_taken = frames_take_clean(pool, &frame);
    TAU_ASSERT(is_taken);
    (void)is_taken;
    return frame;
}

// Whether PAGES pages and then TABLES table pages can be taken now, and if not, which of both is
// lacking.
TAU_SHARED enum tau_status sv39_lacking(const struct tau_sv39 *space, uint32_t pages,
                                        uint32_t tables) {
    const uint32_t pages_free = space->frames->ready.count + space->frames->dirty.count;
    const uint32_t tables_free = space->tables->ready.count + space->tables->dirty.count;
    TAU_ASSERT(tables <= 2 && pages <= 1);
    if (pages_free < pages) {
        return TAU_NO_FRAME;
    }
    const uint32_t both = tables + (space->frames == space->tables ? pages : 0);
    return tables != 0 && tables_free < both ? TAU_NO_TABLE : TAU_OK;
}

enum tau_status tau_sv39_init(struct tau_sv39 *space, struct tau_frames *frames,
                              struct tau_frames *tables, struct tau_sv39_table *records,
                              uint64_t physical_first, uint32_t asid) {
    if (frames == NULL || tables == NULL || records == NULL || asid > SV39_ASID_MAX ||
        frames->links != tables->links || frames->frames_count != tables->frames_count ||
        tables->released != &tables->dirty || tables->memory == NULL ||
        (uintptr_t)tables->memory % TAU_PAGE_BYTES != 0 ||
        physical_first > SV39_PHYSICAL_PAGES_MAX - tables->frames_count) {
        return TAU_BAD_ARGUMENT;
    }
    if (tau_frames_free_count(tables) == 0) {
        return TAU_NO_TABLE;
    }
    *space = (struct tau_sv39){.frames = frames,
                               .tables = tables,
                               .records = records,
                               .physical_first = physical_first,
                               .asid = asid};
    const uint32_t frame = sv39_take(tables);
    space->root = sv39_table_at(space, frame);
    records[frame] = (struct tau_sv39_table){0};
    TAU_ASSERT(tau_sv39_invariants_hold(space));
    return TAU_OK;
}

uint64_t tau_sv39_satp(const struct tau_sv39 *space) {
    const uint64_t number = space->physical_first + sv39_frame_of(space, space->root);
    return SV39_SATP_MODE | ((uint64_t)space->asid << SV39_SATP_ASID_SHIFT) | number;
}

// Takes a table page, initializes its record, and hangs it into SLOT.
TAU_SHARED struct tau_sv39_table *sv39_hang_table(struct tau_sv39 *space, uint64_t *slot,
                                                  uint64_t own) {
    const uint32_t frame = sv39_take(space->tables);
    struct tau_sv39_table *record = &space->records[frame];
    TAU_ASSERT(*slot == 0);
    record->pages = 0;
    record->used = 0;
    record->tables_newest = frame;
    record->tables_count = 1;
    *slot = sv39_entry(space, frame, SV39_ENTRY_VALID | own);
    TAU_ASSERT(sv39_next(space, *slot)[0] == 0);
    return record;
}

// Why the PAGES pages from START on cannot become a region.
static enum tau_status sv39_why_not_region(const struct tau_sv39 *space, struct tau_page start,
                                           uint32_t pages, uint32_t rights) {
    if (pages == 0 || (rights & ~TAU_RIGHTS) != 0 || (rights & (TAU_READ | TAU_EXECUTE)) == 0 ||
        (rights & (TAU_READ | TAU_WRITE)) == TAU_WRITE) {
        return TAU_BAD_ARGUMENT;
    }
    if (!sv39_is_inside(start)) {
        return start.number == 0 ? TAU_PAGE_ZERO : TAU_PAGE_OUTSIDE;
    }
    const uint32_t last = start.number + pages - 1;
    if (pages > TAU_SV39_REGION_PAGES_MAX || (start.number ^ last) >> TAU_SV39_LARGE_LOG2 != 0) {
        return TAU_REGION_TOO_LARGE;
    }
    const bool is_small = (start.number ^ last) >> TAU_SV39_SMALL_LOG2 == 0;
    const uint64_t entry = space->root[start.number >> TAU_SV39_LARGE_LOG2];
    if (sv39_slot(space, start) != NULL ||
        (entry != 0 && !is_small && space->records[sv39_entry_frame(space, entry)].used != 0)) {
        return TAU_REGION_OVERLAPS;
    }
    // A large region takes over an empty shared table.
    const uint32_t tables = (is_small ? 1u : 0u) + (entry == 0 ? 1u : 0u);
    TAU_ASSERT(tables <= 2);
    return sv39_lacking(space, 0, tables);
}

enum tau_status tau_sv39_map_region(struct tau_sv39 *space, struct tau_page start, uint32_t pages,
                                    uint32_t rights) {
    TAU_INVARIANT(tau_sv39_invariants_hold(space));
    const enum tau_status reason = sv39_why_not_region(space, start, pages, rights);
    if (reason != TAU_OK) {
        return reason;
    }
    const uint32_t last = start.number + pages - 1;
    uint64_t *slot = &space->root[start.number >> TAU_SV39_LARGE_LOG2];
    struct tau_sv39_table *record;
    if (*slot == 0) {
        record = sv39_hang_table(space, slot, 0);
    } else {
        record = &space->records[sv39_entry_frame(space, *slot)];
    }
    if ((start.number ^ last) >> TAU_SV39_SMALL_LOG2 == 0) {
        slot = &sv39_next(space, *slot)[(start.number >> TAU_SV39_SMALL_LOG2) % SV39_ENTRIES];
        record->used++;
        record = sv39_hang_table(space, slot, SV39_ENTRY_OWN);
    } else {
        TAU_ASSERT(record->used == 0);
        *slot |= SV39_ENTRY_OWN;
        space->records[sv39_frame_of(space, space->root)].used++;
    }
    record->start = start.number;
    record->pages = pages;
    record->flags = (uint32_t)SV39_LEAF_FLAGS | rights >> SV39_ENTRY_RIGHTS_SHIFT;
    // The hart may have cached the invalid entry. FLUSH_PAGE does not suffice: this is not a leaf.
    TAU_SV39_FLUSH_SPACE(space->asid);
    TAU_ASSERT(sv39_slot(space, start) == slot);
    return TAU_OK;
}

enum tau_status tau_sv39_map_page(struct tau_sv39 *space, struct tau_page page, uint32_t access) {
    TAU_INVARIANT(tau_sv39_invariants_hold(space));
    if (!sv39_is_inside(page)) {
        return page.number == 0 ? TAU_PAGE_ZERO : TAU_PAGE_OUTSIDE;
    }
    const uint64_t *slot = sv39_slot(space, page);
    if (slot == NULL) {
        return TAU_NOT_IN_REGION;
    }
    struct tau_sv39_table *record = &space->records[sv39_entry_frame(space, *slot)];
    uint64_t *table = sv39_next(space, *slot);
    uint64_t *above = NULL;  // the entry of a level-0 table that is missing
    if (page.number - record->start >= record->pages) {
        return TAU_NOT_IN_REGION;
    }
    if ((access & ~(record->flags << SV39_ENTRY_RIGHTS_SHIFT & TAU_RIGHTS)) != 0) {
        return TAU_ACCESS_DENIED;
    }
    if (slot == &space->root[page.number >> TAU_SV39_LARGE_LOG2]) {
        uint64_t *entry = &table[(page.number >> TAU_SV39_SMALL_LOG2) % SV39_ENTRIES];
        if (*entry == 0) {
            above = entry;
        } else {
            table = sv39_next(space, *entry);
        }
    }
    if (above == NULL && table[page.number % SV39_ENTRIES] != 0) {
        return TAU_PAGE_MAPPED;
    }
    const enum tau_status reason = sv39_lacking(space, 1, above != NULL ? 1 : 0);
    if (reason != TAU_OK) {
        return reason;
    }
    uint32_t *links = space->frames->links;
    if (above != NULL) {
        const uint32_t made = sv39_take(space->tables);
        links[made] = record->tables_newest;
        record->tables_newest = made;
        record->tables_count++;
        *above = sv39_entry(space, made, SV39_ENTRY_VALID);
        table = sv39_table_at(space, made);
        TAU_SV39_FLUSH_SPACE(space->asid);  // more than a leaf has changed
    }
    const uint32_t frame = sv39_take(space->frames);
    links[frame] = record->newest;  // any number if it is the first: the oldest frame needs no link
    record->newest = frame;
    if (record->used == 0) {
        record->oldest = frame;
    }
    record->used++;
    space->mapped_pages++;
    table[page.number % SV39_ENTRIES] = sv39_entry(space, frame, record->flags);
    TAU_SV39_FLUSH_PAGE(page.number, space->asid);
    TAU_ASSERT(record->used <= record->pages);
    return TAU_OK;
}

enum tau_status tau_sv39_unmap_region(struct tau_sv39 *space, struct tau_page start) {
    TAU_INVARIANT(tau_sv39_invariants_hold(space));
    if (!sv39_is_inside(start)) {
        return start.number == 0 ? TAU_PAGE_ZERO : TAU_PAGE_OUTSIDE;
    }
    uint64_t *slot = sv39_slot(space, start);
    if (slot == NULL) {
        return TAU_NOT_A_REGION;
    }
    const uint32_t table = sv39_entry_frame(space, *slot);
    const struct tau_sv39_table *record = &space->records[table];
    if (record->start != start.number) {
        return TAU_NOT_A_REGION;
    }
    // Frames may be reused only after no translation leads to them.
    *slot = 0;
    TAU_SV39_FLUSH_SPACE(space->asid);
    space->records[sv39_frame_of(space, slot)].used--;
    frames_release(space->tables, record->tables_newest, table, record->tables_count);
    if (record->used != 0) {
        space->mapped_pages -= record->used;
        frames_release(space->frames, record->newest, record->oldest, record->used);
    }
    TAU_ASSERT(sv39_slot(space, start) == NULL);
    return TAU_OK;
}

enum tau_status tau_sv39_translate(const struct tau_sv39 *space, struct tau_page page,
                                   uint32_t access, struct tau_frame *frame) {
    TAU_ASSERT(frame != NULL);
    TAU_ASSERT((access & ~TAU_RIGHTS) == 0);
    if (!sv39_is_inside(page)) {
        return TAU_NOT_IN_REGION;
    }
    uint64_t entry = space->root[page.number >> TAU_SV39_LARGE_LOG2];
    if (entry == 0) {
        return TAU_NOT_IN_REGION;
    }
    entry = sv39_next(space, entry)[(page.number >> TAU_SV39_SMALL_LOG2) % SV39_ENTRIES];
    if (entry == 0) {
        return TAU_NOT_IN_REGION;
    }
    entry = sv39_next(space, entry)[page.number % SV39_ENTRIES];
    if (entry == 0) {
        return TAU_NOT_IN_REGION;
    }
    frame->number = sv39_entry_frame(space, entry);
    return (access >> SV39_ENTRY_RIGHTS_SHIFT & ~entry) == 0 ? TAU_OK : TAU_ACCESS_DENIED;
}

static void sv39_give_back(struct tau_sv39 *space, uint32_t table) {
    TAU_ASSERT(table < space->tables->frames_count);
    TAU_ASSERT(space->records[table].used == 0);
    frames_release(space->tables, table, table, 1);
}

void tau_sv39_close(struct tau_sv39 *space) {
    TAU_INVARIANT(tau_sv39_invariants_hold(space));
    for (uint32_t i = 0; i < SV39_ENTRIES / 2; i++) {  // bound: the GiBs of the lower half
        const uint64_t entry = space->root[i];
        for (uint32_t j = 0;
             (entry & (SV39_ENTRY_VALID | SV39_ENTRY_OWN)) == SV39_ENTRY_VALID && j < SV39_ENTRIES;
             j++) {  // bound: the slots of a GiB
            const uint64_t below = sv39_next(space, entry)[j];
            if (below != 0) {
                const uint32_t table = sv39_entry_frame(space, below);
                (void)tau_sv39_unmap_region(space, (struct tau_page){space->records[table].start});
            }
        }
        if (entry != 0) {
            const uint32_t table = sv39_entry_frame(space, entry);
            if ((entry & SV39_ENTRY_OWN) != 0) {
                (void)tau_sv39_unmap_region(space, (struct tau_page){space->records[table].start});
            } else {
                sv39_give_back(space, table);
            }
        }
    }
    TAU_ASSERT(space->mapped_pages == 0);
    sv39_give_back(space, sv39_frame_of(space, space->root));
    space->root = NULL;
    TAU_SV39_FLUSH_SPACE(space->asid);
}

bool tau_sv39_invariants_hold(const struct tau_sv39 *space) {
    if (space->root == NULL || space->frames == NULL || space->tables == NULL ||
        space->frames->links != space->tables->links ||
        space->tables->released != &space->tables->dirty ||
        !tau_frames_invariants_hold(space->frames) || !tau_frames_invariants_hold(space->tables)) {
        return false;
    }
    const uint32_t root = sv39_frame_of(space, space->root);
    return root < space->tables->frames_count && space->records[root].pages == 0 &&
           space->records[root].used < SV39_ENTRIES / 2 + 1 &&
           space->mapped_pages <= space->frames->frames_count;
}

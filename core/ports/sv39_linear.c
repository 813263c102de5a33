// Unmapping without the chains: what the tables hold is found by walking them.
#include "core/ports/sv39_linear.h"

#include "core/frames_list.h"
#include "core/ports/sv39_entry.h"

// Clears the COUNT leaf entries from ENTRY on and gives their frames back; says how many there
// were.
TAU_INLINE uint32_t clear_leaves(struct tau_sv39 *space, uint64_t *entry, uint32_t count) {
    uint32_t cleared = 0;
    TAU_ASSERT(count <= ENTRIES);
    for (const uint64_t *end = entry + count; entry != end; entry++) {  // bound: count
        if (*entry != 0) {
            const uint32_t frame = sv39_entry_frame(space, *entry);
            *entry = 0;
            frames_release(space->frames, frame, frame, 1);
            cleared++;
        }
    }
    TAU_ASSERT(cleared <= count);
    return cleared;
}

// A table whose entries are all cleared is as good as zeroed.
TAU_INLINE void give_table(struct tau_sv39 *space, uint64_t *slot) {
    const uint32_t table = sv39_entry_frame(space, *slot);
    TAU_ASSERT(sv39_next(space, *slot)[0] == 0);
    TAU_ASSERT(sv39_next(space, *slot)[ENTRIES - 1] == 0);
    *slot = 0;
    frames_splice(space->tables, &space->tables->ready, table, table, 1);
}

enum tau_status tau_sv39_linear_unmap_region(struct tau_sv39 *space, struct tau_page start) {
    TAU_INVARIANT(tau_sv39_invariants_hold(space));
    if (!sv39_is_inside(start)) {
        return start.number == 0 ? TAU_PAGE_ZERO : TAU_PAGE_OUTSIDE;
    }
    uint64_t *slot = sv39_slot(space, start);
    if (slot == NULL) {
        return TAU_NOT_A_REGION;
    }
    const struct tau_sv39_table *record = &space->records[sv39_entry_frame(space, *slot)];
    if (record->start != start.number) {
        return TAU_NOT_A_REGION;
    }
    uint64_t *table = sv39_next(space, *slot);
    uint32_t cleared = 0;
    if (slot == &space->root[start.number >> TAU_SV39_LARGE_LOG2]) {
        uint32_t page = start.number;
        const uint32_t end = start.number + record->pages;
        while (page != end) {  // bound: the 2 MiB parts of the region
            const uint32_t behind = (page / ENTRIES + 1) * ENTRIES;
            const uint32_t stop = behind < end ? behind : end;
            uint64_t *entry = &table[(page >> TAU_SV39_SMALL_LOG2) % ENTRIES];
            if (*entry != 0) {
                uint64_t *leaves = &sv39_next(space, *entry)[page % ENTRIES];
                cleared += clear_leaves(space, leaves, stop - page);
                give_table(space, entry);
            }
            page = stop;
        }
    } else {
        cleared = clear_leaves(space, &table[start.number % ENTRIES], record->pages);
    }
    TAU_ASSERT(cleared == record->used);
    space->mapped_pages -= cleared;
    space->records[sv39_frame_of(space, slot)].used--;
    give_table(space, slot);
    TAU_SV39_FLUSH_SPACE(space->asid);
    return TAU_OK;
}

// Unmapping without the chains: a walk of the tables finds their frames.
#include "core/ports/sv39_linear.h"

#include "core/private/pages/frames_inline.h"
#include "core/private/pages/sv39_inline.h"

// The frames that the walk has collected.
struct sv39_linear_chain {
    uint32_t newest;
    uint32_t oldest;
    uint32_t count;
};

// Clears the COUNT leaf entries from ENTRY on and links their frames.
TAU_SHARED void sv39_linear_clear_leaves(const struct tau_sv39 *space, uint64_t *entry,
                                         uint32_t count, struct sv39_linear_chain *frames) {
    uint32_t *links = space->frames->links;
    const uint32_t physical_first = (uint32_t)space->physical_first;
    TAU_ASSERT(count <= SV39_ENTRIES);
    for (const uint64_t *end = entry + count; entry != end; entry++) {  // bound: count
        const uint64_t leaf = *entry;
        if (leaf == 0) {
            continue;
        }
        const uint32_t frame = (uint32_t)(leaf >> SV39_ENTRY_NUMBER_SHIFT) - physical_first;
        *entry = 0;
        if (frames->count == 0) {
            frames->oldest = frame;
        }
        links[frame] = frames->newest;
        frames->newest = frame;
        frames->count++;
    }
    TAU_ASSERT(frames->count <= TAU_SV39_REGION_PAGES_MAX);
}

// A table whose entries are all cleared counts as zeroed.
TAU_SHARED void sv39_linear_give_table(struct tau_sv39 *space, uint64_t *slot) {
    const uint32_t table = sv39_entry_frame(space, *slot);
    TAU_ASSERT(sv39_next(space, *slot)[0] == 0);
    TAU_ASSERT(sv39_next(space, *slot)[SV39_ENTRIES - 1] == 0);
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
    struct sv39_linear_chain frames = {0, 0, 0};
    if (slot == &space->root[start.number >> TAU_SV39_LARGE_LOG2]) {
        uint32_t page = start.number;
        const uint32_t end = start.number + record->pages;
        while (page != end) {  // bound: the 2 MiB parts of the region
            const uint32_t behind = (page / SV39_ENTRIES + 1) * SV39_ENTRIES;
            const uint32_t stop = behind < end ? behind : end;
            uint64_t *entry = &table[(page >> TAU_SV39_SMALL_LOG2) % SV39_ENTRIES];
            if (*entry != 0) {
                uint64_t *leaves = &sv39_next(space, *entry)[page % SV39_ENTRIES];
                sv39_linear_clear_leaves(space, leaves, stop - page, &frames);
                sv39_linear_give_table(space, entry);
            }
            page = stop;
        }
    } else {
        sv39_linear_clear_leaves(space, &table[start.number % SV39_ENTRIES], record->pages,
                                 &frames);
    }
    TAU_ASSERT(frames.count == record->used);
    if (frames.count != 0) {
        space->mapped_pages -= frames.count;
        frames_release(space->frames, frames.newest, frames.oldest, frames.count);
    }
    space->records[sv39_frame_of(space, slot)].used--;
    sv39_linear_give_table(space, slot);
    TAU_SV39_FLUSH_SPACE(space->asid);
    return TAU_OK;
}

// See check_vspace.h.
#include "core/tests/checks/check_vspace.h"

#include "core/private/pages/validity_inline.h"
#include "core/tests/checks/check_validity.h"

struct sums {
    uint32_t mapped_pages;
    uint32_t open_pages;  // in regions that belong to no heap: all of these are committed
    bool has_heap;        // which says itself how many pages it commits
};

static uint32_t end_of(const struct tau_vspace *space, uint32_t start) {
    uint32_t end = start + 1;
    while (end < space->validity.pages_count &&
           !tau_region_tree_is_start(&space->tree, (struct tau_page){end})) {
        end++;
    }
    return end;
}

// [VSP-2], and the tree's answers [VSP-3] for the pages of one region.
static unsigned region_broken(const struct tau_vspace *space, uint32_t start, uint32_t end,
                              bool was_free) {
    const bool is_free = (space->validity.regions[start].top & VALIDITY_STATE) == VALIDITY_FREE;
    if (is_free && was_free) {
        return 2;
    }
    for (uint32_t page = start; page < end; page++) {
        struct tau_page next = {0};
        const bool has_next = tau_region_tree_next(&space->tree, (struct tau_page){page}, &next);
        if (tau_region_tree_find(&space->tree, (struct tau_page){page}).number != start ||
            has_next != (end != space->validity.pages_count) || (has_next && next.number != end)) {
            return 3;
        }
    }
    return 0;
}

static unsigned sums_broken(const struct tau_vspace *space, const struct sums *sums) {
    const struct tau_frames *const frames = space->frames;
    if (sums->mapped_pages != space->mapped_pages) {
        return 4;
    }
    if (sums->open_pages > space->committed_pages ||
        (!sums->has_heap && sums->open_pages != space->committed_pages) ||
        space->committed_pages > space->commit_max_pages) {
        return 5;
    }
    // [P0-45]: every admitted page can be mapped.
    if (space->commit_max_pages != UINT32_MAX &&
        tau_frames_free_count(frames) < space->committed_pages - sums->mapped_pages) {
        return 6;
    }
    return 0;
}

unsigned check_vspace(const struct tau_vspace *space, unsigned char *places) {
    const struct tau_validity *const validity = &space->validity;
    struct sums sums = {0};
    bool was_free = false;
    if (!tau_region_tree_is_start(&space->tree, (struct tau_page){0}) ||
        validity->regions[0].top != VALIDITY_FREE) {
        return 1;
    }
    for (uint32_t start = 0, end; start < validity->pages_count; start = end) {
        const uint32_t top = validity->regions[start].top;
        end = end_of(space, start);
        const unsigned broken = region_broken(space, start, end, was_free);
        if (broken != 0) {
            return broken;
        }
        was_free = (top & VALIDITY_STATE) == VALIDITY_FREE;
        if (!was_free) {
            const bool is_open = (top & VALIDITY_STATE) == VALIDITY_OPEN;
            sums.open_pages += is_open ? end - start : 0;
            sums.has_heap = sums.has_heap || !is_open;
            sums.mapped_pages += validity_sp(top) + 1 - start;
        }
    }
    const unsigned broken = check_validity(validity, &space->tree, space->frames->links,
                                           space->frames->frames_count, places);
    if (broken != 0) {
        return CHECK_VSPACE_VALIDITY + broken;
    }
    if (!tau_vspace_invariants_hold(space)) {
        return 7;
    }
    return sums_broken(space, &sums);
}

// See check_validity.h.
#include "core/tests/checks/check_validity.h"

#include <stdlib.h>

#include "core/private/pages/validity_inline.h"

struct walk {
    const struct tau_validity *validity;
    const uint32_t *links;
    uint32_t frames_count;
    unsigned char *places;
    bool *is_mapped;  // a page
};

// [PVA-3] ... [PVA-6] for the pages from START to before END, one region with some page mapped.
static unsigned stack_broken(struct walk *walk, uint32_t start, uint32_t end) {
    const struct tau_validity *const validity = walk->validity;
    const uint32_t top = validity->regions[start].top;
    const uint32_t state = top & VALIDITY_STATE;
    uint32_t older = 0;
    for (uint32_t place = start; place <= validity_sp(top); place++) {  // bound: a region's pages
        const uint32_t page = validity->stacks[place].page;
        if (page < start || page >= end || walk->is_mapped[page]) {
            return 3;
        }
        const uint32_t entry = validity->data[page];
        const uint32_t frame = entry & TAU_NUMBER_MASK;
        if (validity->stacks[page].helper != place || validity->regions[page].cache != start) {
            return 4;
        }
        if ((entry & ~TAU_NUMBER_MASK) != (top & TAU_RIGHTS) || frame >= walk->frames_count) {
            return 5;
        }
        if (place != start && walk->links[frame] != older) {
            return 6;
        }
        if (state == VALIDITY_HEAP_HEAD && page != start) {
            return 7;
        }
        older = frame;
        walk->is_mapped[page] = true;
        if (walk->places != NULL) {
            walk->places[frame]++;
        }
    }
    if (state == VALIDITY_HEAP_HEAD || state == VALIDITY_HEAP_OPEN) {
        return validity_sp(top) >= start && validity->stacks[start].page == start ? 0 : 7;
    }
    return 0;
}

// [PVA-1], [PVA-2] and each region's own.
static unsigned regions_broken(struct walk *walk, const struct tau_region_tree *starts) {
    const struct tau_validity *const validity = walk->validity;
    for (uint32_t start = 0, end; start < validity->pages_count; start = end) {
        for (end = start + 1; end < validity->pages_count; end++) {
            if (tau_region_tree_is_start(starts, (struct tau_page){end})) {
                break;
            }
            const uint32_t word = validity->regions[end].top;
            if (validity_sp(word) >= end || (word & VALIDITY_STATE) != VALIDITY_FREE) {
                return 1;  // Lemma 1 asks that every stack that is not in use be empty
            }
        }
        const uint32_t top = validity->regions[start].top;
        const bool is_free = (top & VALIDITY_STATE) == VALIDITY_FREE;
        if (validity_sp(top) >= end || (!is_free && validity_sp(top) + 1 < start)) {
            return 2;
        }
        if (is_free && start != 0 && validity_sp(top) >= start) {
            return 2;
        }
        const unsigned broken = is_free ? 0 : stack_broken(walk, start, end);
        if (broken != 0) {
            return broken;
        }
    }
    return 0;
}

unsigned check_validity(const struct tau_validity *validity, const struct tau_region_tree *starts,
                        const uint32_t *links, uint32_t frames_count, unsigned char *places) {
    struct walk walk = {validity, links, frames_count, places,
                        calloc(validity->pages_count, sizeof(bool))};
    if (walk.is_mapped == NULL) {
        abort();
    }
    unsigned broken = regions_broken(&walk, starts);
    for (uint32_t page = 0; broken == 0 && page < validity->pages_count; page++) {
        uint32_t entry;
        if (tau_validity_lookup(validity, (struct tau_page){page}, &entry) !=
            walk.is_mapped[page]) {
            broken = 8;
        }
    }
    free(walk.is_mapped);
    return broken;
}

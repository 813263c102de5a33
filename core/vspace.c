// The address space. States and invariants: docs/spec/vspace.md. The steps:
//
// 1. map_region finds the free region that contains the range (find, next) and cuts the range out
//    (two splits). No page is mapped.
// 2. map_page runs at the first access to a page. It finds the page's region and pushes the page
//    onto the region's stack. The page's entry is valid as long as the page is on that stack.
// 3. unmap_region empties the stack with one store, which invalidates all entries. It puts the
//    chain of frames onto the pool's list and joins the region with free neighbors.
#include "core/vspace.h"

#include "core/port.h"
#include "core/private/memory.h"
#include "core/private/pages/vspace_inline.h"

#define VSPACE_NO_LIMIT UINT32_MAX

TAU_SHARED uint32_t vspace_top_of(const struct tau_vspace *space, struct tau_page start) {
    TAU_ASSERT(start.number < space->validity.pages_count);
    return space->validity.regions[start.number].top;
}

TAU_SHARED bool vspace_is_free(const struct tau_vspace *space, struct tau_page start) {
    return (vspace_top_of(space, start) & VALIDITY_STATE) == VALIDITY_FREE;
}

size_t tau_vspace_size_bytes(unsigned pages_log2) {
    const size_t tree_bytes = tau_region_tree_size_bytes(pages_log2);
    return tree_bytes == 0 ? 0 : tree_bytes + tau_validity_size_bytes(UINT32_C(1) << pages_log2);
}

enum tau_status tau_vspace_init(struct tau_vspace *space, void *memory, size_t size_bytes,
                                unsigned pages_log2, struct tau_frames *frames,
                                enum tau_vspace_policy policy) {
    if (pages_log2 < TAU_SPACE_PAGES_LOG2_MIN) {
        return TAU_SPACE_TOO_SMALL;
    }
    if (pages_log2 > TAU_SPACE_PAGES_LOG2_MAX) {
        return TAU_SPACE_TOO_LARGE;
    }
    if (frames == NULL || size_bytes < tau_vspace_size_bytes(pages_log2) ||
        !memory_holds(memory, tau_vspace_size_bytes(pages_log2)) ||
        (policy == TAU_VSPACE_COMMIT && frames->released != &frames->ready)) {
        return TAU_BAD_ARGUMENT;
    }
    const size_t tree_bytes = tau_region_tree_size_bytes(pages_log2);
    enum tau_status made = tau_region_tree_init(&space->tree, memory, tree_bytes, pages_log2);
    TAU_ASSERT(made == TAU_OK);
    made = tau_validity_init(&space->validity, (unsigned char *)memory + tree_bytes,
                             size_bytes - tree_bytes, UINT32_C(1) << pages_log2);
    TAU_ASSERT(made == TAU_OK);
    (void)made;
    space->frames = frames;
    space->mapped_pages = 0;
    space->committed_pages = 0;
    space->commit_max_pages =
        policy == TAU_VSPACE_COMMIT ? tau_frames_free_count(frames) : VSPACE_NO_LIMIT;
    TAU_ASSERT(tau_vspace_invariants_hold(space));
    return TAU_OK;
}

// The first page after the region that contains PAGE.
TAU_SHARED uint32_t vspace_end_after(const struct tau_vspace *space, struct tau_page page) {
    struct tau_page next;
    return tau_region_tree_next(&space->tree, page, &next) ? next.number
                                                           : space->validity.pages_count;
}

// Why the PAGES pages from START on cannot become a region.
static enum tau_status vspace_why_not_region(const struct tau_vspace *space, struct tau_page start,
                                             uint32_t pages, uint32_t rights,
                                             uint32_t commit_pages) {
    if (pages == 0 || (rights & ~TAU_RIGHTS) != 0) {
        return TAU_BAD_ARGUMENT;
    }
    if (start.number == 0) {
        return TAU_PAGE_ZERO;
    }
    if (start.number >= space->validity.pages_count) {
        return TAU_PAGE_OUTSIDE;
    }
    if (pages > space->validity.pages_count - start.number) {
        return TAU_REGION_TOO_LARGE;
    }
    if (!vspace_is_free(space, tau_region_tree_find(&space->tree, start)) ||
        vspace_end_after(space, start) - start.number < pages) {
        return TAU_REGION_OVERLAPS;
    }
    return commit_pages > space->commit_max_pages - space->committed_pages ? TAU_NOT_ADMITTED
                                                                           : TAU_OK;
}

enum tau_status tau_vspace_claim(struct tau_vspace *space, struct tau_page start, uint32_t pages,
                                 uint32_t rights, uint32_t commit_pages) {
    TAU_INVARIANT(tau_vspace_invariants_hold(space));
    TAU_ASSERT(commit_pages <= pages);
    const enum tau_status reason = vspace_why_not_region(space, start, pages, rights, commit_pages);
    if (reason != TAU_OK) {
        return reason;
    }
    const struct tau_page end = {start.number + pages};
    if (end.number < space->validity.pages_count && !region_tree_is_start(&space->tree, end)) {
        TAU_ASSERT(vspace_is_free(space, end) &&
                   validity_sp(vspace_top_of(space, end)) < end.number);
        tau_region_tree_split(&space->tree, end);
    }
    if (!region_tree_is_start(&space->tree, start)) {
        tau_region_tree_split(&space->tree, start);
    }
    space->validity.regions[start.number].top = (start.number - 1) | VALIDITY_OPEN | rights;
    space->committed_pages += commit_pages;
    TAU_ASSERT(tau_region_tree_find(&space->tree, start).number == start.number);
    TAU_ASSERT(vspace_end_after(space, start) == end.number);
    return TAU_OK;
}

enum tau_status tau_vspace_map_region(struct tau_vspace *space, struct tau_page start,
                                      uint32_t pages, uint32_t rights) {
    return tau_vspace_claim(space, start, pages, rights, pages);
}

enum tau_status tau_vspace_map_page(struct tau_vspace *space, struct tau_page page,
                                    uint32_t access) {
    TAU_INVARIANT(tau_vspace_invariants_hold(space));
    if (page.number - 1 >= space->validity.pages_count - 1) {
        return page.number == 0 ? TAU_PAGE_ZERO : TAU_PAGE_OUTSIDE;
    }
    const struct tau_page start = tau_region_tree_find(&space->tree, page);
    const uint32_t top = vspace_top_of(space, start);
    const uint32_t state = top & VALIDITY_STATE;
    TAU_ASSERT(start.number <= page.number);
    if (state == VALIDITY_FREE || (state == VALIDITY_HEAP_HEAD && page.number != start.number)) {
        return TAU_NOT_IN_REGION;
    }
    if ((access & ~(top & TAU_RIGHTS)) != 0) {
        return TAU_ACCESS_DENIED;
    }
    if (validity_is_mapped(&space->validity, start.number, page.number)) {
        return TAU_PAGE_MAPPED;
    }
    uint32_t frame;
    if (!frames_take_clean(space->frames, &frame)) {
        return TAU_NO_FRAME;
    }
    validity_push(&space->validity, space->frames->links, start.number, page.number, frame);
    space->mapped_pages++;
    TAU_ASSERT(validity_is_mapped(&space->validity, start.number, page.number));
    return TAU_OK;
}

enum tau_status tau_vspace_unmap_region(struct tau_vspace *space, struct tau_page start) {
    TAU_INVARIANT(tau_vspace_invariants_hold(space));
    if (start.number - 1 >= space->validity.pages_count - 1) {
        return start.number == 0 ? TAU_PAGE_ZERO : TAU_PAGE_OUTSIDE;
    }
    const uint32_t top = vspace_top_of(space, start);
    const uint32_t sp = validity_sp(top);
    if ((top & VALIDITY_STATE) == VALIDITY_FREE) {
        return TAU_NOT_A_REGION;  // true also for a page that starts no region
    }
    TAU_ASSERT(region_tree_is_start(&space->tree, start));
    if ((top & VALIDITY_STATE) != VALIDITY_OPEN) {
        return TAU_REGION_IN_HEAP;
    }
    struct tau_page next;
    const bool has_next = tau_region_tree_next(&space->tree, start, &next);
    const uint32_t end = has_next ? next.number : space->validity.pages_count;
    if (sp >= start.number) {
        vspace_region_release(space, start.number, sp);
    }
    vspace_region_empty(space, start.number, VALIDITY_FREE);
    if (has_next && vspace_is_free(space, next)) {
        tau_region_tree_union(&space->tree, next);
    }
    if (vspace_is_free(space,
                       tau_region_tree_find(&space->tree, (struct tau_page){start.number - 1}))) {
        tau_region_tree_union(&space->tree, start);
    }
    TAU_ASSERT(space->committed_pages >= end - start.number);
    TAU_ASSERT(sp < end);
    space->committed_pages -= end - start.number;
    return TAU_OK;
}

void tau_vspace_close(struct tau_vspace *space) {
    struct tau_page start = {0};
    TAU_INVARIANT(tau_vspace_invariants_hold(space));
    while (tau_region_tree_next(&space->tree, (struct tau_page){0}, &start)) {  // bound: regions
        const uint32_t sp = validity_sp(vspace_top_of(space, start));
        TAU_ASSERT(start.number != 0);
        if (sp >= start.number) {
            vspace_region_release(space, start.number, sp);
        }
        vspace_region_empty(space, start.number, VALIDITY_FREE);
        tau_region_tree_union(&space->tree, start);
    }
    space->committed_pages = 0;
    TAU_ASSERT(space->mapped_pages == 0);
}

enum tau_status tau_vspace_translate(const struct tau_vspace *space, struct tau_page page,
                                     uint32_t access, struct tau_frame *frame) {
    uint32_t entry;
    TAU_ASSERT(frame != NULL);
    TAU_ASSERT((access & ~TAU_RIGHTS) == 0);
    if (page.number >= space->validity.pages_count ||
        !validity_lookup(&space->validity, page.number, &entry)) {
        return TAU_NOT_IN_REGION;
    }
    frame->number = entry & TAU_NUMBER_MASK;
    return (access & ~entry) == 0 ? TAU_OK : TAU_ACCESS_DENIED;
}

bool tau_vspace_invariants_hold(const struct tau_vspace *space) {
    const struct tau_page zero = {0};
    return space->frames != NULL && vspace_is_free(space, zero) &&
           space->mapped_pages < space->validity.pages_count &&
           space->committed_pages < space->validity.pages_count &&
           space->committed_pages <= space->commit_max_pages &&
           space->mapped_pages <= space->committed_pages &&
           region_tree_is_start(&space->tree, zero) &&
           tau_region_tree_invariants_hold(&space->tree);
}

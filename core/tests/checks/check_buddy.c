// See check_buddy.h. Written from docs/spec/buddy.md: of the core only the structures are used.
#include "core/tests/checks/check_buddy.h"

#include <stdlib.h>

enum { NEXT, PREVIOUS };

static uint32_t groups_of(const struct tau_buddy *buddy, unsigned order) {
    const uint32_t frames = UINT32_C(4) << 2 * order;
    return buddy->frames_count / frames + (buddy->frames_count % frames != 0);
}

static bool is_free(const struct tau_buddy *buddy, uint32_t group, unsigned member) {
    return (buddy->members[group] & 1u << member) != 0;
}

static bool is_taken(const struct tau_buddy *buddy, uint32_t group, unsigned member) {
    return (buddy->members[group] & 16u << member) != 0;
}

// [BUD-1] of one order, whose groups have the numbers from FIRST to below END.
static bool list_is_sound(const struct tau_buddy *buddy, unsigned order, uint32_t first,
                          uint32_t end, unsigned char *listed) {
    uint32_t before = order;
    uint32_t group = buddy->links[order].at[NEXT];
    while (group != order) {  // bound: the groups, as each is listed once
        if (group < first || group >= end || buddy->links[group].at[PREVIOUS] != before ||
            listed[group]++ != 0) {
            return false;
        }
        before = group;
        group = buddy->links[group].at[NEXT];
    }
    if (buddy->links[order].at[PREVIOUS] != before) {
        return false;
    }
    for (group = first; group < end; group++) {
        if ((listed[group] != 0) != ((buddy->members[group] & 15u) != 0)) {
            return false;
        }
    }
    return true;
}

// [BUD-2] ... [BUD-4], [BUD-6] of one group; COVERS counts the blocks that each frame lies in.
static unsigned group_broken(const struct tau_buddy *buddy, unsigned order, uint32_t group,
                             uint32_t first_block, unsigned char *covers) {
    for (unsigned member = 0; member < 4; member++) {
        const uint32_t frames = UINT32_C(1) << 2 * order;
        const uint32_t frame = (first_block + member) * frames;
        if (!is_free(buddy, group, member) && !is_taken(buddy, group, member)) {
            continue;
        }
        if (is_free(buddy, group, member) && is_taken(buddy, group, member)) {
            return 2;
        }
        if (frame + frames > buddy->frames_end) {
            return 6;
        }
        for (uint32_t i = frame; i < frame + frames; i++) {
            if (covers[i]++ != 0) {
                return 3;
            }
        }
    }
    return order < TAU_BUDDY_ORDERS - 1 && (buddy->members[group] & 15u) == 15u ? 4 : 0;
}

static unsigned order_broken(const struct tau_buddy *buddy, unsigned order, uint32_t first,
                             unsigned char *listed, unsigned char *covers) {
    const uint32_t end = first + groups_of(buddy, order);
    uint32_t free_count = 0;
    if (!list_is_sound(buddy, order, first, end, listed)) {
        return 1;
    }
    for (uint32_t group = first; group < end; group++) {
        const unsigned broken = group_broken(buddy, order, group, 4 * (group - first), covers);
        if (broken != 0) {
            return broken;
        }
        for (unsigned member = 0; member < 4; member++) {
            free_count += is_free(buddy, group, member);
        }
    }
    return free_count == buddy->orders[order].free_count ? 0 : 5;
}

unsigned check_buddy(const struct tau_buddy *buddy) {
    if (buddy->frames_end > buddy->frames_count) {
        return 6;
    }
    uint32_t groups_end = TAU_BUDDY_ORDERS;
    for (unsigned order = 0; order < TAU_BUDDY_ORDERS; order++) {
        groups_end += groups_of(buddy, order);
    }
    unsigned char *const listed = calloc(groups_end, 1);
    unsigned char *const covers = calloc(buddy->frames_count, 1);
    if (listed == NULL || covers == NULL) {
        abort();
    }
    unsigned broken = 0;
    uint32_t first = TAU_BUDDY_ORDERS;
    for (unsigned order = 0; order < TAU_BUDDY_ORDERS && broken == 0; order++) {
        broken = buddy->orders[order].groups_first == first
                     ? order_broken(buddy, order, first, listed, covers)
                     : 7;
        first += groups_of(buddy, order);
    }
    free(listed);
    free(covers);
    return broken == 0 && !tau_buddy_invariants_hold(buddy) ? 7 : broken;
}

// What the fuzzing programs of spaces compare with the naive account of oracle_vspace.h.
#ifndef TAU_FUZZ_ORACLE_H
#define TAU_FUZZ_ORACLE_H

#include "core/private/pages/frames_inline.h"
#include "core/tests/checks/check_frames.h"
#include "core/tests/kit/fuzz_pages.h"
#include "core/tests/pages/oracle_vspace.h"

static inline unsigned bits(uint32_t rights) {
    return rights >> 27;
}

// LIST, whose frames follow each other by LINKS, is the row.
static inline void expect_list(const uint32_t *links, const struct tau_frame_list *list,
                               const uint32_t *row, uint32_t count) {
    uint32_t frame = list->head;
    EXPECT_EQUAL(list->count, count);
    for (uint32_t i = 0; i < count && list->count == count; i++) {
        EXPECT_EQUAL(frame, row[count - 1 - i]);
        frame = links[frame];
    }
}

// Adds the frames of POOL to PLACES, as check_frames does.
static inline void expect_pool(const uint32_t *links, const struct tau_frames *pool,
                               const struct oracle_pool *oracle, unsigned char *places) {
    EXPECT_EQUAL(check_frames(pool, places), 0);
    EXPECT(tau_frames_invariants_hold(pool));
    expect_list(links, &pool->ready, oracle->ready, oracle->ready_count);
    expect_list(links, &pool->dirty, oracle->dirty, oracle->dirty_count);
}

// No page at all, or one of few that are odd.
static inline uint32_t odd_page(const struct oracle_space *space) {
    const uint32_t count = space->pages_count;
    const uint32_t odd[] = {0, count, count + 1, UINT32_MAX, UINT32_C(1) << 27};
    return odd[choose(5)];
}

// Spoils what a region is to be made of: sometimes its PAGES, sometimes its RIGHTS.
static inline void spoil_region(const struct oracle_space *space, uint32_t *pages,
                                uint32_t *rights) {
    if (choose(32) == 0) {
        const uint32_t odd[] = {0, UINT32_MAX, space->pages_count, UINT32_C(1) << 27};
        *pages = odd[choose(4)];
    }
    if (choose(32) == 0) {
        *rights |= UINT32_C(1) << (choose(29) + 30) % 32;
    }
}

#endif

// A naive account of frames, against which the programs compare the buddy allocator: what is free
// follows from the frames alone, since free blocks are the largest aligned ones.
//
// Which group stands first in a list is history, which only model/buddy.py keeps.
#ifndef TAU_ORACLE_BUDDY_H
#define TAU_ORACLE_BUDDY_H

#include "core/buddy.h"
#include "core/tests/kit/test.h"

enum { ORACLE_FREE = 254, ORACLE_ABSENT = 255 };

struct oracle_buddy {
    uint8_t *frames;  // each ORACLE_FREE, ORACLE_ABSENT, or the order of its taken block
    uint8_t *starts;  // whether a taken block starts there
    uint32_t frames_count;
    uint32_t frames_end;
};

static inline bool oracle_all_free(const struct oracle_buddy *oracle, uint32_t frame,
                                   unsigned order) {
    const uint32_t count = UINT32_C(1) << 2 * order;
    if (frame + count > oracle->frames_count) {
        return false;
    }
    for (uint32_t i = frame; i < frame + count; i++) {
        if (oracle->frames[i] != ORACLE_FREE) {
            return false;
        }
    }
    return true;
}

// Whether a free block of exactly ORDER starts at FRAME.
static inline bool oracle_is_block(const struct oracle_buddy *oracle, uint32_t frame,
                                   unsigned order) {
    const uint32_t count = UINT32_C(1) << 2 * order;
    return frame % count == 0 && oracle_all_free(oracle, frame, order) &&
           (order + 1 == TAU_BUDDY_ORDERS ||
            !oracle_all_free(oracle, frame - frame % (4 * count), order + 1));
}

static inline uint32_t oracle_free_count(const struct oracle_buddy *oracle, unsigned order) {
    const uint32_t count = UINT32_C(1) << 2 * order;
    uint32_t found = 0;
    for (uint32_t frame = 0; frame < oracle->frames_count; frame += count) {
        found += oracle_is_block(oracle, frame, order);
    }
    return found;
}

// The order that a block of ORDER is taken from, TAU_BUDDY_ORDERS if none is there.
static inline unsigned oracle_source(const struct oracle_buddy *oracle, unsigned order) {
    unsigned source = order;
    while (source < TAU_BUDDY_ORDERS && oracle_free_count(oracle, source) == 0) {
        source++;
    }
    return source;
}

static inline enum tau_status oracle_add(struct oracle_buddy *oracle, uint32_t first,
                                         uint32_t count) {
    if (count == 0) {
        return TAU_BAD_ARGUMENT;
    }
    if ((uint64_t)first + count > oracle->frames_count) {
        return TAU_FRAME_OUTSIDE;
    }
    if (first < oracle->frames_end) {
        return TAU_FRAME_TWICE;
    }
    memset(oracle->frames + first, ORACLE_FREE, count);
    oracle->frames_end = first + count;
    return TAU_OK;
}

// Enters that a take of ORDER answered STATUS and FRAME: the lowest free block of its siblings,
// from the smallest order that has one, and if that was split its first part.
static inline void oracle_take(struct oracle_buddy *oracle, unsigned order, enum tau_status status,
                               uint32_t frame) {
    if (order >= TAU_BUDDY_ORDERS) {
        EXPECT_EQUAL(status, TAU_BAD_ARGUMENT);
        return;
    }
    const unsigned source = oracle_source(oracle, order);
    EXPECT_EQUAL(status, source == TAU_BUDDY_ORDERS ? TAU_NO_FRAME : TAU_OK);
    if (status != TAU_OK) {
        return;
    }
    REQUIRE(frame < oracle->frames_count && source < TAU_BUDDY_ORDERS);
    EXPECT(oracle_is_block(oracle, frame, source));
    const uint32_t count = UINT32_C(1) << 2 * source;
    for (uint32_t lower = frame - frame % (4 * count); lower < frame; lower += count) {
        EXPECT(!oracle_is_block(oracle, lower, source));
    }
    memset(oracle->frames + frame, (int)order, (size_t)1 << 2 * order);
    oracle->starts[frame] = 1;
}

// What giving FRAME back with ORDER must answer; enters it.
static inline enum tau_status oracle_give(struct oracle_buddy *oracle, uint32_t frame,
                                          unsigned order) {
    if (order >= TAU_BUDDY_ORDERS) {
        return TAU_BAD_ARGUMENT;
    }
    if (frame >= oracle->frames_count || oracle->frames[frame] == ORACLE_ABSENT) {
        return TAU_FRAME_OUTSIDE;
    }
    if (oracle->frames[frame] == ORACLE_FREE) {
        return TAU_FRAME_FREE;
    }
    if (oracle->starts[frame] == 0 || oracle->frames[frame] != order) {
        return TAU_FRAME_ORDER;
    }
    memset(oracle->frames + frame, ORACLE_FREE, (size_t)1 << 2 * order);
    oracle->starts[frame] = 0;
    return TAU_OK;
}

// Whether COUNTS blocks of each order can be taken, by taking them from SCRATCH, a copy.
static inline bool oracle_has_mix(struct oracle_buddy *scratch, const uint32_t *counts) {
    for (unsigned order = TAU_BUDDY_ORDERS; order-- > 0;) {
        for (uint32_t i = 0; i < counts[order]; i++) {
            const unsigned source = oracle_source(scratch, order);
            if (source == TAU_BUDDY_ORDERS) {
                return false;
            }
            uint32_t frame = 0;
            while (!oracle_is_block(scratch, frame, source)) {
                frame += UINT32_C(1) << 2 * source;
            }
            memset(scratch->frames + frame, (int)order, (size_t)1 << 2 * order);
        }
    }
    return true;
}

// What the allocator says about its free blocks is what the account says.
static inline void oracle_expect(const struct oracle_buddy *oracle, const struct tau_buddy *buddy) {
    uint32_t free_frames_count = 0;
    unsigned largest = TAU_BUDDY_ORDERS;
    for (unsigned order = 0; order < TAU_BUDDY_ORDERS; order++) {
        const uint32_t count = oracle_free_count(oracle, order);
        EXPECT_EQUAL(tau_buddy_free_count(buddy, order), count);
        free_frames_count += count << 2 * order;
        largest = count != 0 ? order : largest;
    }
    unsigned found = TAU_BUDDY_ORDERS;
    EXPECT_EQUAL(tau_buddy_largest(buddy, &found), largest != TAU_BUDDY_ORDERS);
    EXPECT_EQUAL(found, largest);
    EXPECT_EQUAL(tau_buddy_free_frames_count(buddy), free_frames_count);
}

#endif

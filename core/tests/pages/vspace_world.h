// A machine of the tests: frames with bytes, one shared pool, and spaces on hostile table memory.
#ifndef TAU_VSPACE_WORLD_H
#define TAU_VSPACE_WORLD_H

#include "core/private/pages/frames_inline.h"
#include "core/private/pages/validity_inline.h"
#include "core/tests/checks/check_frames.h"
#include "core/tests/checks/check_vspace.h"
#include "core/tests/kit/test.h"

struct world {
    uint32_t *links;
    unsigned char *memory;
    uint32_t frames_count;
    struct tau_frames pool;
};

// A space and its table memory.
struct world_space {
    struct tau_vspace space;
    uint32_t *tables;
    size_t tables_bytes;
};

// Makes a machine of FRAMES_COUNT frames, none handed in, full of what somebody left there.
static inline void world_open(struct world *world, uint32_t frames_count) {
    world->frames_count = frames_count;
    world->links = malloc(frames_count * sizeof(uint32_t));
    world->memory = malloc((size_t)frames_count << TAU_PAGE_LOG2);
    REQUIRE(world->links != NULL && world->memory != NULL);
    memset(world->memory, 0xc3, (size_t)frames_count << TAU_PAGE_LOG2);
    REQUIRE(tau_frames_init(&world->pool, world->links, frames_count, world->memory) == TAU_OK);
}

static inline void world_close(struct world *world) {
    free(world->links);
    free(world->memory);
}

static inline unsigned char *world_bytes(const struct world *world, uint32_t frame) {
    return world->memory + ((size_t)frame << TAU_PAGE_LOG2);
}

static inline bool world_is_zero(const struct world *world, uint32_t frame) {
    for (size_t i = 0; i < TAU_PAGE_BYTES; i++) {
        if (world_bytes(world, frame)[i] != 0) {
            return false;
        }
    }
    return true;
}

// Makes a space that takes frames from POOL, on memory whose words are random and below LIMIT.
static inline void space_open(struct world_space *made, unsigned pages_log2, uint64_t limit,
                              struct tau_frames *pool, enum tau_vspace_policy policy) {
    made->tables_bytes = tau_vspace_size_bytes(pages_log2);
    made->tables = malloc(made->tables_bytes);
    REQUIRE(made->tables != NULL && made->tables_bytes != 0);
    for (size_t i = 0; i < made->tables_bytes / sizeof(uint32_t); i++) {
        made->tables[i] = (uint32_t)(test_random() % limit);
    }
    REQUIRE(tau_vspace_init(&made->space, made->tables, made->tables_bytes, pages_log2, pool,
                            policy) == TAU_OK);
    EXPECT_EQUAL(check_vspace(&made->space, NULL), 0);
}

static inline void space_close(struct world_space *made) {
    tau_vspace_close(&made->space);
    EXPECT_EQUAL(check_vspace(&made->space, NULL), 0);
    free(made->tables);
}

// Copies every byte that calls may reach to IMAGE, or compares them with IMAGE.
static inline void world_image(const struct world *world, const struct world_space *made,
                               unsigned char **image, bool compare) {
    const struct {
        const void *bytes;
        size_t count;
    } parts[] = {
        {world->links, world->frames_count * sizeof(uint32_t)},
        {world->memory, (size_t)world->frames_count << TAU_PAGE_LOG2},
        {&world->pool, sizeof world->pool},
        {made->space.frames, sizeof *made->space.frames},
        {&made->space, sizeof made->space},
        {made->tables, made->tables_bytes},
    };
    size_t at = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (compare) {
            EXPECT(memcmp(*image + at, parts[i].bytes, parts[i].count) == 0);
        } else {
            *image = realloc(*image, at + parts[i].count);
            REQUIRE(*image != NULL);
            memcpy(*image + at, parts[i].bytes, parts[i].count);
        }
        at += parts[i].count;
    }
}

// CALL is refused for REASON, and no byte changes.
#define EXPECT_REFUSED(world, made, call, reason)                                                  \
    do {                                                                                           \
        unsigned char *image = NULL;                                                               \
        world_image((world), (made), &image, false);                                               \
        EXPECT_EQUAL((call), (reason));                                                            \
        world_image((world), (made), &image, true);                                                \
        free(image);                                                                               \
        EXPECT_EQUAL(check_vspace(&(made)->space, NULL), 0);                                       \
    } while (0)

static inline struct tau_page page_at(uint32_t number) {
    return (struct tau_page){number};
}

// The frame of PAGE, UINT32_MAX if it is not mapped.
static inline uint32_t frame_behind(const struct tau_vspace *space, uint32_t page) {
    struct tau_frame frame = {UINT32_MAX};
    (void)tau_vspace_translate(space, page_at(page), 0, &frame);
    return frame.number;
}

// Every frame that was handed in has one place among the pools and spaces that were walked.
static inline void expect_one_place(const struct world *world, const unsigned char *places) {
    for (uint32_t frame = 0; frame < world->frames_count; frame++) {
        EXPECT_EQUAL(places[frame], world->links[frame] == FRAMES_ABSENT ? 0 : 1);
    }
}

#endif

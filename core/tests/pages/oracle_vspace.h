// A second, naive account of frames and address spaces, fast enough for millions of calls: one
// array entry per page, one row per pool. It follows the same rules as model/vspace.py and
// model/frames.py, and test_vspace_programs.py compares it with them. It shares no line with core/.
#ifndef TAU_ORACLE_VSPACE_H
#define TAU_ORACLE_VSPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/page.h"
#include "core/status.h"

// A program that keeps smaller accounts says so.
#ifndef ORACLE_PAGES_MAX
#define ORACLE_PAGES_MAX 1024
#define ORACLE_FRAMES_MAX 128
#endif

// Two rows of frames; the last one of a row is its head.
struct oracle_pool {
    bool is_reserved;
    uint32_t ready_count;
    uint32_t dirty_count;
    uint32_t ready[ORACLE_FRAMES_MAX];
    uint32_t dirty[ORACLE_FRAMES_MAX];
};

struct oracle_page {
    uint32_t start;  // start of its region; 0: in none
    uint32_t frame;  // if is_mapped
    bool is_mapped;
};

struct oracle_space {
    struct oracle_pool *pool;
    uint32_t pages_count;
    uint32_t committed_pages;
    uint32_t commit_max_pages;
    uint32_t mapped_pages;
    struct oracle_page pages[ORACLE_PAGES_MAX];
    uint32_t rights[ORACLE_PAGES_MAX];   // rights of the region that starts there
    uint32_t history[ORACLE_PAGES_MAX];  // the mapped pages, in the order of their faults
};

// ---- Frames ------------------------------------------------------------------------------------

static inline uint32_t oracle_free_count(const struct oracle_pool *pool) {
    return pool->ready_count + pool->dirty_count;
}

static inline void oracle_add(struct oracle_pool *pool, uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        pool->dirty[pool->dirty_count++] = first + count - 1 - i;
    }
}

static inline bool oracle_clean_one(struct oracle_pool *pool) {
    if (pool->dirty_count == 0) {
        return false;
    }
    pool->ready[pool->ready_count++] = pool->dirty[--pool->dirty_count];
    return true;
}

static inline bool oracle_take(struct oracle_pool *pool, uint32_t *frame) {
    if (pool->ready_count == 0 && !oracle_clean_one(pool)) {
        return false;
    }
    *frame = pool->ready[--pool->ready_count];
    return true;
}

static inline void oracle_release(struct oracle_pool *pool, uint32_t frame) {
    if (pool->is_reserved) {
        pool->ready[pool->ready_count++] = frame;
    } else {
        pool->dirty[pool->dirty_count++] = frame;
    }
}

static inline bool oracle_reserve(struct oracle_pool *pool, struct oracle_pool *reserved,
                                  uint32_t count) {
    if (count > oracle_free_count(pool)) {
        return false;
    }
    memset(reserved, 0, sizeof *reserved);
    reserved->is_reserved = true;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t frame = 0;
        (void)oracle_take(pool, &frame);
        reserved->ready[reserved->ready_count++] = frame;
    }
    return true;
}

static inline void oracle_return(struct oracle_pool *pool, struct oracle_pool *reserved) {
    while (reserved->ready_count != 0) {
        pool->dirty[pool->dirty_count++] = reserved->ready[--reserved->ready_count];
    }
}

// ---- Spaces ------------------------------------------------------------------------------------

static inline void oracle_init(struct oracle_space *space, uint32_t pages_count,
                               struct oracle_pool *pool, bool commits) {
    memset(space, 0, sizeof *space);
    space->pool = pool;
    space->pages_count = pages_count;
    space->commit_max_pages = commits ? oracle_free_count(pool) : UINT32_MAX;
}

static inline enum tau_status oracle_map_region(struct oracle_space *space, uint32_t start,
                                                uint32_t pages, uint32_t rights) {
    if (pages == 0 || (rights & ~TAU_RIGHTS) != 0) {
        return TAU_BAD_ARGUMENT;
    }
    if (start == 0) {
        return TAU_PAGE_ZERO;
    }
    if (start >= space->pages_count) {
        return TAU_PAGE_OUTSIDE;
    }
    if ((uint64_t)start + pages > space->pages_count) {
        return TAU_REGION_TOO_LARGE;
    }
    for (uint32_t page = start; page < start + pages; page++) {
        if (space->pages[page].start != 0) {
            return TAU_REGION_OVERLAPS;
        }
    }
    if ((uint64_t)space->committed_pages + pages > space->commit_max_pages) {
        return TAU_NOT_ADMITTED;
    }
    for (uint32_t page = start; page < start + pages; page++) {
        space->pages[page] = (struct oracle_page){.start = start};
    }
    space->rights[start] = rights;
    space->committed_pages += pages;
    return TAU_OK;
}

static inline enum tau_status oracle_map_page(struct oracle_space *space, uint32_t page,
                                              uint32_t access) {
    if (page == 0) {
        return TAU_PAGE_ZERO;
    }
    if (page >= space->pages_count) {
        return TAU_PAGE_OUTSIDE;
    }
    struct oracle_page *const entry = &space->pages[page];
    if (entry->start == 0) {
        return TAU_NOT_IN_REGION;
    }
    if ((access & ~space->rights[entry->start]) != 0) {
        return TAU_ACCESS_DENIED;
    }
    if (entry->is_mapped) {
        return TAU_PAGE_MAPPED;
    }
    if (!oracle_take(space->pool, &entry->frame)) {
        return TAU_NO_FRAME;
    }
    entry->is_mapped = true;
    space->history[space->mapped_pages++] = page;
    return TAU_OK;
}

static inline enum tau_status oracle_unmap_region(struct oracle_space *space, uint32_t start) {
    if (start == 0) {
        return TAU_PAGE_ZERO;
    }
    if (start >= space->pages_count) {
        return TAU_PAGE_OUTSIDE;
    }
    if (space->pages[start].start != start) {
        return TAU_NOT_A_REGION;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < space->mapped_pages; i++) {  // the oldest first: it ends up lowest
        const uint32_t page = space->history[i];
        if (space->pages[page].start == start) {
            oracle_release(space->pool, space->pages[page].frame);
        } else {
            space->history[kept++] = page;
        }
    }
    space->mapped_pages = kept;
    for (uint32_t page = start; page < space->pages_count; page++) {
        if (space->pages[page].start == start) {
            space->pages[page] = (struct oracle_page){0};
            space->committed_pages--;
        }
    }
    return TAU_OK;
}

static inline enum tau_status oracle_translate(const struct oracle_space *space, uint32_t page,
                                               uint32_t access, uint32_t *frame) {
    if (page >= space->pages_count || !space->pages[page].is_mapped) {
        return TAU_NOT_IN_REGION;
    }
    *frame = space->pages[page].frame;
    return (access & ~space->rights[space->pages[page].start]) != 0 ? TAU_ACCESS_DENIED : TAU_OK;
}

#endif

// The conventional heap on the tile, of peers/conventional: break_heap over pagetable, whose table
// lies where the page table unit reads it. Its unmap walks every page of the range.
#ifndef TAU_REPLAY_SYSTEM_BREAK_HEAP_H
#define TAU_REPLAY_SYSTEM_BREAK_HEAP_H

#include "peers/conventional/break_heap.h"
#include "peers/conventional/pagetable.h"
#include "targets/tile/tile.h"

#define SYSTEM_UNIT TAU_TILE_UNIT_PAGETABLE
#ifndef SYSTEM_FREE  // of a heap that differs in nothing else
#define SYSTEM_FREE tau_break_heap_free
#endif

static struct tau_pagetable system_table;
static struct tau_break_heap system_heap;

// Returns the bytes of plain memory that it took. It needs none and still returns some, because 0
// means that the space's size is invalid.
static inline uint32_t system_space_init(struct tau_frames *frames, uint32_t pages_log2) {
    void *const entries = (void *)(uintptr_t)TAU_TILE_TABLE2;
    const size_t size_bytes = sizeof(uint32_t) << pages_log2;
    return tau_pagetable_init(&system_table, entries, size_bytes, pages_log2, frames,
                              TAU_PAGETABLE_RESERVED) == TAU_OK
               ? (uint32_t)sizeof(uint32_t)
               : 0;
}

static inline enum tau_status system_heap_init(uint32_t pages) {
    return tau_break_heap_init(&system_heap, &system_table, TAU_SPACE_ORIGIN, (struct tau_page){1},
                               pages);
}

static inline void *system_malloc(size_t size_bytes) {
    return tau_break_heap_malloc(&system_heap, size_bytes);
}

static inline void *system_aligned_alloc(size_t alignment, size_t size_bytes) {
    return tau_break_heap_aligned_alloc(&system_heap, alignment, size_bytes);
}

static inline bool system_resize(void *pointer, size_t size_bytes) {
    return tau_break_heap_resize(&system_heap, pointer, size_bytes);
}

static inline enum tau_status system_free(void *pointer) {
    return SYSTEM_FREE(&system_heap, pointer);
}

static inline enum tau_status system_map_page(struct tau_page page, uint32_t access) {
    (void)access;
    return tau_break_heap_map_page(&system_heap, page);
}

static inline bool system_is_mapped(struct tau_page page) {
    struct tau_frame frame;
    return tau_pagetable_translate(&system_table, page, 0, &frame) == TAU_OK;
}

static inline uint32_t system_mapped_pages(void) {
    return system_table.mapped_pages;
}

static inline enum tau_status system_map_region(struct tau_page start, uint32_t pages) {
    (void)start;
    (void)pages;
    return TAU_OK;
}

static inline enum tau_status system_map_region_page(struct tau_page page) {
    return tau_pagetable_map_page(&system_table, page, TAU_READ | TAU_WRITE);
}

static inline enum tau_status system_unmap_region(struct tau_page start, uint32_t pages) {
    return tau_pagetable_unmap(&system_table, start, pages);
}

#endif

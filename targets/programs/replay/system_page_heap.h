// The heap on pages on the tile: core/page_heap over core/vspace. The three memories of the
// validity array lie where the RTMMU reads them, the region tree in plain memory. With
// TAU_REPLAY_REGION_TLB the unit has a TLB of regions, and port.h notifies it of each unmap.
// Nothing else differs.
#ifndef TAU_REPLAY_SYSTEM_PAGE_HEAP_H
#define TAU_REPLAY_SYSTEM_PAGE_HEAP_H

#include "core/page_heap.h"
#include "core/vspace.h"
#include "targets/tile/mmu_rtmmu.h"
#include "targets/tile/tile.h"

#if TAU_REPLAY_REGION_TLB
#define SYSTEM_UNIT TAU_TILE_UNIT_RTMMU_TLB
#else
#define SYSTEM_UNIT TAU_TILE_UNIT_RTMMU
#endif

static struct tau_vspace system_space;
static struct tau_page_heap system_heap;

// As tau_vspace_init, with the tables at fixed addresses. Returns the bytes of plain memory that it
// took, or 0 if the space's size is invalid.
static inline uint32_t system_space_init(struct tau_frames *frames, uint32_t pages_log2) {
    const struct tau_vspace_tables tables = {
        .regions = (struct tau_validity_region *)(uintptr_t)TAU_TILE_TABLE0,
        .stacks = (struct tau_validity_stack *)(uintptr_t)TAU_TILE_TABLE1,
        .data = (uint32_t *)(uintptr_t)TAU_TILE_TABLE2,
        .tree = TAU_TILE_PLAIN,
        .tree_bytes = tau_region_tree_size_bytes(pages_log2),
    };
    if (tables.tree_bytes == 0 || tables.tree_bytes > TAU_TILE_SIZE_PLAIN_BYTES ||
        tau_vspace_init_at(&system_space, &tables, pages_log2, frames) != TAU_OK) {
        return 0;
    }
#if TAU_REPLAY_REGION_TLB
    tau_mmu_rtmmu_forget_all();
#endif
    return (uint32_t)tables.tree_bytes;
}

static inline enum tau_status system_heap_init(uint32_t pages) {
    return tau_page_heap_init(&system_heap, &system_space, TAU_SPACE_ORIGIN, (struct tau_page){1},
                              pages, UINT32_MAX);
}

static inline void *system_malloc(size_t size_bytes) {
    return tau_page_heap_malloc(&system_heap, size_bytes);
}

static inline void *system_aligned_alloc(size_t alignment, size_t size_bytes) {
    return tau_page_heap_aligned_alloc(&system_heap, alignment, size_bytes);
}

static inline bool system_resize(void *pointer, size_t size_bytes) {
    return tau_page_heap_resize(&system_heap, pointer, size_bytes);
}

static inline enum tau_status system_free(void *pointer) {
    return tau_page_heap_free(&system_heap, pointer);
}

static inline enum tau_status system_map_page(struct tau_page page, uint32_t access) {
    return tau_vspace_map_page(&system_space, page, access);
}

static inline bool system_is_mapped(struct tau_page page) {
    uint32_t entry;
    return tau_validity_lookup(&system_space.validity, page, &entry);
}

static inline uint32_t system_mapped_pages(void) {
    return system_space.mapped_pages;
}

static inline enum tau_status system_map_region(struct tau_page start, uint32_t pages) {
    return tau_vspace_map_region(&system_space, start, pages, TAU_READ | TAU_WRITE);
}

static inline enum tau_status system_map_region_page(struct tau_page page) {
    return tau_vspace_map_page(&system_space, page, TAU_WRITE);
}

static inline enum tau_status system_unmap_region(struct tau_page start, uint32_t pages) {
    (void)pages;
    return tau_vspace_unmap_region(&system_space, start);
}

#endif

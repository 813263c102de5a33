// Hierarchical tables [P0-7]: an address space whose table memory is proportional to the mapped
// pages. Operations, statuses and constant time are as in vspace.h.
//
// A chunk is 32 pages. It has a record only while a region starts in it or one of its pages is
// mapped. The records come from a pool that several spaces may share. A pages validity array
// (validity.h) over the chunks maps each chunk to its record. Inside a record, one word says which
// pages are mapped, and one word says where regions start.
//
// Design: docs/design/hierarchy.md. Layout, invariants and bounds: docs/spec/hierarchy.md.
//
// Only the init calls loop. The costs below are longest paths on RV32IMC at -O2, in spaces of up to
// 2^20 pages, with a frame ready.
//
// The calls are not reentrant. The caller holds one lock per space, one per frame table and one per
// pool of records.
#ifndef TAU_HIERARCHY_H
#define TAU_HIERARCHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/frames.h"
#include "core/page.h"
#include "core/region_tree.h"
#include "core/status.h"
#include "core/validity.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAU_HIERARCHY_CHUNK_LOG2 5u
#define TAU_HIERARCHY_CHUNK_PAGES (1u << TAU_HIERARCHY_CHUNK_LOG2)

// The record of a chunk. Page b has bit and index ~b mod 32 in every word and array, as in the
// region tree.
struct tau_hierarchy_record {
    uint32_t starts;                           // one bit per page: a region starts there
    uint32_t mapped;                           // one bit per page: it is mapped
    uint32_t data[TAU_HIERARCHY_CHUNK_PAGES];  // for a mapped page: frame | rights
    // For a region that starts at place i, word i + 1 has the oldest frame | rights | state. Word i
    // is the number of its mapped pages, unless the next region uses that word.
    uint32_t header[TAU_HIERARCHY_CHUNK_PAGES + 1];
};

// A pool of records.
struct tau_hierarchy_tables {
    struct tau_hierarchy_record *records;
    struct tau_frames free;  // unused records, linked like frames
    uint32_t promised;       // unused records set aside for faults in spaces that commit
};

enum tau_hierarchy_policy {
    TAU_HIERARCHY_OVERCOMMIT,  // a fault may fail for want of a frame or a record
    TAU_HIERARCHY_COMMIT,      // no fault fails for want of either; the pool of frames must be the
                               // space's own
};

struct tau_hierarchy {
    struct tau_validity chunks;   // chunk q is entry q + 1; its data is the chunk's record
    struct tau_region_tree tree;  // the chunks in which a region starts
    struct tau_hierarchy_tables *tables;
    struct tau_hierarchy_record *records;  // the pool's
    struct tau_frames *frames;
    uint32_t pages_count;
    uint32_t mapped_pages;
    uint32_t committed_pages;  // pages of all regions
    uint32_t commit_max_pages;
};

// Bytes of a pool of RECORDS_COUNT records: 272 per record. SIZE_MAX if no address space holds so
// many.
size_t tau_hierarchy_tables_size_bytes(uint32_t records_count);

// Number of records that always suffices for a space of 2^PAGES_LOG2 pages with:
// - at most REGIONS regions
// - at most REGION_PAGES pages in all regions together
// - at most MAPPED_PAGES mapped pages
//
// It is 1 + 2 REGIONS + min(REGION_PAGES / 32, MAPPED_PAGES), or one per chunk if that is less. 0
// if PAGES_LOG2 is out of range.
uint32_t tau_hierarchy_tables_enough(unsigned pages_log2, uint32_t regions, uint32_t region_pages,
                                     uint32_t mapped_pages);

// Makes a pool of as many records as SIZE_BYTES of MEMORY hold. MEMORY may contain anything. TABLES
// must not be moved.
// Fails if and only if MEMORY is NULL, misaligned (4) or too small for one record, or its end wraps
// around (TAU_BAD_ARGUMENT).
// Cost: a constant number of steps per record.
enum tau_status tau_hierarchy_tables_init(struct tau_hierarchy_tables *tables, void *memory,
                                          size_t size_bytes);

// Bytes of the constant part of a space; 0 if PAGES_LOG2 is out of range.
size_t tau_hierarchy_size_bytes(unsigned pages_log2);

// As tau_vspace_init. The space takes its records from TABLES, and one of them at once.
// Fails also if and only if no record is left (TAU_NO_TABLE).
// Cost: one store for each 32 pages.
enum tau_status tau_hierarchy_init(struct tau_hierarchy *space, void *memory, size_t size_bytes,
                                   unsigned pages_log2, struct tau_hierarchy_tables *tables,
                                   struct tau_frames *frames, enum tau_hierarchy_policy policy);

// Returns the record that a space without regions still has. The space must be initialized again
// before its next use.
// Fails, with nothing changed, if and only if a region is left (TAU_BAD_ARGUMENT).
enum tau_status tau_hierarchy_close(struct tau_hierarchy *space);

// As tau_vspace_map_region. Takes one record for each end of the region whose chunk has none.
// Fails also, with nothing changed, if and only if these records are not left (TAU_NO_TABLE). If
// the space commits, all records that the region could need must be left.
// Cost: 488 instructions (418 with Zbb), 150 accesses.
enum tau_status tau_hierarchy_map_region(struct tau_hierarchy *space, struct tau_page start,
                                         uint32_t pages, uint32_t rights);

// As tau_vspace_map_page. Takes at most one record.
// Fails also, with nothing changed, if and only if it needs a record and none is left
// (TAU_NO_TABLE, before TAU_NO_FRAME).
// Cost: 282 instructions (246 with Zbb), 88 accesses.
enum tau_status tau_hierarchy_map_page(struct tau_hierarchy *space, struct tau_page page,
                                       uint32_t access);

// As tau_vspace_unmap_region. Returns all records that no other region needs.
// Cost: 459 instructions (386 with Zbb), 131 accesses, whatever the region's size.
enum tau_status tau_hierarchy_unmap_region(struct tau_hierarchy *space, struct tau_page start);

// As tau_vspace_translate. Reads at most seven words of tables, in three steps.
// Cost: 52 instructions (51 with Zbb), 13 accesses.
enum tau_status tau_hierarchy_translate(const struct tau_hierarchy *space, struct tau_page page,
                                        uint32_t access, struct tau_frame *frame);

// Constant-time self test. core/tests/checks/check_hierarchy.c checks the whole space.
bool tau_hierarchy_invariants_hold(const struct tau_hierarchy *space);

#ifdef __cplusplus
}
#endif

#endif

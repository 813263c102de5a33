// Hierarchical tables [P0-7]: an address space whose tables take memory in proportion to what is
// mapped, with the operations, statuses and constant time of vspace.h.
//
// Pages come in chunks of 32. A chunk has a record, from a pool that spaces may share, only while a
// region starts in it or one of its pages is mapped. Which chunk has which record is a pages
// validity array (validity.h) over the chunks; inside a record, one word says which pages are
// mapped and one where regions start. Design: docs/design/hierarchy.md; layout, invariants
// and bounds: docs/spec/hierarchy.md. No operation but init loops; the costs below are
// those of the longest path on RV32IMC, -O2, in spaces of up to 2^20 pages, with a frame ready. Not
// reentrant: one lock a space, one a frame table and one a pool of records, by the caller.
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

// What a chunk of pages is made of. Page b has place ~b mod 32 in every word and array, as in the
// region tree.
struct tau_hierarchy_record {
    uint32_t starts;                           // a bit a page: a region starts there
    uint32_t mapped;                           // a bit a page: it is mapped
    uint32_t data[TAU_HIERARCHY_CHUNK_PAGES];  // of a mapped page: frame | rights
    // Of a region that starts at place i: oldest frame | rights | state in word i + 1, and in word
    // i how many of its pages are mapped, unless word i is the next region's.
    uint32_t header[TAU_HIERARCHY_CHUNK_PAGES + 1];
};

// A pool of records.
struct tau_hierarchy_tables {
    struct tau_hierarchy_record *records;
    struct tau_frames free;  // the records that no chunk has, linked as frames are
    uint32_t promised;       // how many of them are kept for faults in spaces that commit
};

enum tau_hierarchy_policy {
    TAU_HIERARCHY_OVERCOMMIT,  // a fault may fail for want of a frame or a record
    TAU_HIERARCHY_COMMIT,      // what is admitted never fails; the frames must be the space's own
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

// Bytes of a pool of RECORDS_COUNT records: 272 each; SIZE_MAX if no address space holds so many.
size_t tau_hierarchy_tables_size_bytes(uint32_t records_count);

// Records that always suffice for a space of 2^PAGES_LOG2 pages with at most REGIONS regions of
// together at most REGION_PAGES pages, of which at most MAPPED_PAGES are mapped: 1 + 2 REGIONS +
// the lesser of REGION_PAGES / 32 and MAPPED_PAGES, or one a chunk if that is less. 0 if PAGES_LOG2
// is out of range.
uint32_t tau_hierarchy_tables_enough(unsigned pages_log2, uint32_t regions, uint32_t region_pages,
                                     uint32_t mapped_pages);

// Makes a pool of as many records as SIZE_BYTES of MEMORY hold, which may contain anything. TABLES
// must stay where it is. Fails if and only if MEMORY is NULL or misaligned (4), or holds no record
// (TAU_BAD_ARGUMENT). Cost: some steps a record.
enum tau_status tau_hierarchy_tables_init(struct tau_hierarchy_tables *tables, void *memory,
                                          size_t size_bytes);

// Bytes of the constant part of a space; 0 if PAGES_LOG2 is out of range.
size_t tau_hierarchy_size_bytes(unsigned pages_log2);

// As tau_vspace_init, with records from TABLES, one of them at once. Fails also if none is left
// (TAU_NO_TABLE). Cost: a store for each 32 pages.
enum tau_status tau_hierarchy_init(struct tau_hierarchy *space, void *memory, size_t size_bytes,
                                   unsigned pages_log2, struct tau_hierarchy_tables *tables,
                                   struct tau_frames *frames, enum tau_hierarchy_policy policy);

// Gives the record that a space without regions still has back; the space must be made anew before
// it is used again. Fails, with nothing changed, if and only if a region is left
// (TAU_BAD_ARGUMENT).
enum tau_status tau_hierarchy_close(struct tau_hierarchy *space);

// As tau_vspace_map_region; takes a record for each end of the region that lies in a chunk without
// one. Fails also, with nothing changed, if they, or all that the region could need if the space
// commits, are not left (TAU_NO_TABLE).
// Cost: 488 instructions (415 with Zbb), 150 accesses.
enum tau_status tau_hierarchy_map_region(struct tau_hierarchy *space, struct tau_page start,
                                         uint32_t pages, uint32_t rights);

// As tau_vspace_map_page; takes at most one record. Fails also, with nothing changed, if none is
// left (TAU_NO_TABLE, before TAU_NO_FRAME).
// Cost: 282 instructions (246 with Zbb), 88 accesses.
enum tau_status tau_hierarchy_map_page(struct tau_hierarchy *space, struct tau_page page,
                                       uint32_t access);

// As tau_vspace_unmap_region; gives back all records that no other region needs.
// Cost: 455 instructions (382 with Zbb), 129 accesses, whatever the region's size.
enum tau_status tau_hierarchy_unmap_region(struct tau_hierarchy *space, struct tau_page start);

// As tau_vspace_translate: at most seven words of tables are read, in three steps.
// Cost: 52 instructions (51 with Zbb), 13 accesses.
enum tau_status tau_hierarchy_translate(const struct tau_hierarchy *space, struct tau_page page,
                                        uint32_t access, struct tau_frame *frame);

// Constant-time self test. The full walk is core/tests/checks/check_hierarchy.c.
bool tau_hierarchy_invariants_hold(const struct tau_hierarchy *space);

#ifdef __cplusplus
}
#endif

#endif

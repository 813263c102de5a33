// TLB coloring: heaps whose pages, and the directory entries above them, lie in TLB sets that
// nobody else uses [P4-2].
//
// A geometry says which set of which array an entry goes to. A principal (a task or the kernel)
// owns sets in every array. Its heap is a TLSF over runs of pages that only need its sets, in a
// window of addresses of its own. Rules: docs/spec/tlb_color.md. Reasons: docs/design/tlb_color.md.
//
// Geometries and partitions are read only, and may lie in ROM. All searching is at initialization.
// A refused call has changed nothing.
#ifndef TAU_TLB_COLOR_H
#define TAU_TLB_COLOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config.h"
#include "core/status.h"
#include "core/tlsf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAU_TLB_COLOR_ROWS_MAX 16u  // bits of an index

// Words of state for a window of PAGES pages.
#define TAU_TLB_COLOR_WORDS(pages) (((pages) + 31) / 32)

struct tau_tlb_color_array {
    uint32_t sets_count;  // a power of two; 1: nobody can own a part
    uint32_t ways;
    uint32_t safe_ways;  // live entries of a set that never evict each other
};

enum tau_tlb_color_role { TAU_TLB_COLOR_DATA, TAU_TLB_COLOR_DIRECTORY, TAU_TLB_COLOR_CODE };

// Entries of 2^page_log2 bytes. Bit i of an entry's set is the parity of rows[i] and the number of
// the base page, exclusive or bit i of the constant.
struct tau_tlb_color_structure {
    const uintptr_t *rows;  // as many as the bits of a set's number
    uint32_t constant;
    uint8_t role;  // enum tau_tlb_color_role
    uint8_t page_log2;
    uint8_t array;
};

struct tau_tlb_color_geometry {
    const struct tau_tlb_color_array *arrays;
    const struct tau_tlb_color_structure *structures;
    uint8_t arrays_count;
    uint8_t structures_count;
    uint8_t page_log2;  // the base page
};

// The sets of one array that a principal owns.
struct tau_tlb_color_sets {
    const uint32_t *owned;  // set s is bit s % 32 of word s / 32; NULL: none
    uint32_t taken;  // entries of a set that the principal's pages outside the heap take at most
};

// Isolated: only the principal's own sets. No-miss: also, no set has more live entries than its
// safe ways.
enum tau_tlb_color_mode { TAU_TLB_COLOR_ISOLATED, TAU_TLB_COLOR_NO_MISS };

// Addresses of one heap, at a multiple of their size, and its pages and mode.
struct tau_tlb_color_window {
    uintptr_t start;
    uint8_t size_log2;
    uint8_t page_log2;
    uint8_t mode;          // enum tau_tlb_color_mode
    uint32_t pages_count;  // 0: no heap
};

enum tau_tlb_color_use {
    TAU_TLB_COLOR_STACK_PAGES,
    TAU_TLB_COLOR_GLOBALS_PAGES,
    TAU_TLB_COLOR_CODE_PAGES,
};

// Adjacent pages outside all heaps. The functions below do not look at them.
struct tau_tlb_color_part {
    uintptr_t start;
    size_t size_bytes;
    uint8_t use;  // enum tau_tlb_color_use
};

struct tau_tlb_color_principal {
    const struct tau_tlb_color_sets *sets;  // one entry per array
    const struct tau_tlb_color_window *windows;
    const struct tau_tlb_color_part *parts;
    uint32_t windows_count;
    uint32_t parts_count;
    const char *name;
    uint32_t group;  // not 0: may own sets that others of this group own, too; they run in turn
};

struct tau_tlb_color_partition {
    const struct tau_tlb_color_geometry *geometry;
    const struct tau_tlb_color_principal *principals;
    uint32_t principals_count;
};

struct tau_tlb_color {
    struct tau_tlsf *blocks;  // NULL until tau_tlb_color_start
    uintptr_t lowest;         // the window's start, and a word: headers lie before objects
    uintptr_t span_bytes;     // from the window's start to the end of the last run
    const uint32_t *pages;    // one bit per page of the window, highest bit first: handed out
    uint32_t page_log2;
    size_t object_max_bytes;
};

// Adjacent pages of a heap.
struct tau_tlb_color_run {
    uintptr_t start;
    size_t size_bytes;
};

// Checks a partition.
// Fails if and only if:
// - a pointer is NULL, the geometry breaks [CLR-1] ... [CLR-4] of docs/spec/tlb_color.md, or a
//   window breaks [CLR-5] or [CLR-7] (TAU_BAD_ARGUMENT)
// - a principal owns a set that an array does not have (TAU_SETS_OUTSIDE)
// - two principals that have no group in common own one set, or two windows overlap
//   (TAU_SETS_OWNED)
// Cost: one step per pair of structures, of principals in each array, and of windows.
enum tau_status tau_tlb_color_check(const struct tau_tlb_color_partition *partition);

// Searches the pages of the heap of WINDOW of PRINCIPAL: the lowest there that only need the
// principal's sets, but never its last page. PAGES is memory for the bits, which the heap keeps. No
// page is touched.
// Fails if and only if:
// - tau_tlb_color_check fails, with its reason
// - the principal, window or mode does not exist, the window has no heap, a pointer is NULL, or
//   WORDS_COUNT is less than TAU_TLB_COLOR_WORDS of the window's pages (TAU_BAD_ARGUMENT)
// - the window has too few such pages (TAU_WINDOW_FULL)
// - in mode no-miss, a set would hold more entries than its safe ways (TAU_WAYS_EXCEEDED)
// Cost: one index per structure and page of the window. In mode no-miss, as often as the principal
// has sets.
enum tau_status tau_tlb_color_init(struct tau_tlb_color *heap,
                                   const struct tau_tlb_color_partition *partition,
                                   uint32_t principal, uint32_t window, uint32_t *pages,
                                   size_t words_count);

// Stores the run after RUN at RUN; the first one if RUN is all zeros. Returns false if there is
// none. The caller maps the runs, and no other page of the window.
// Cost: one step per page of the window.
bool tau_tlb_color_next_run(const struct tau_tlb_color *heap, struct tau_tlb_color_run *run);

// Makes a TLSF of the runs, which are mapped now. Called once, before the functions below.
// Fails, with the heap not started, if and only if:
// - it is started (TAU_BAD_ARGUMENT)
// - the smallest run cannot hold the control block (TAU_POOL_TOO_SMALL)
// - a run is larger than a TLSF's pool can be (TAU_POOL_TOO_LARGE)
// - with 32-bit words on a 64-bit machine, runs are too far apart (TAU_BAD_ARGUMENT)
// Cost: one step per pair of runs, and per page of the window.
enum tau_status tau_tlb_color_start(struct tau_tlb_color *heap);

// The largest request that a started heap without objects serves.
size_t tau_tlb_color_object_max_bytes(const struct tau_tlb_color *heap);

// As tau_tlsf_malloc. An object lies in one run.
// Cost: 2 instructions more.
void *tau_tlb_color_malloc(struct tau_tlb_color *heap, size_t size_bytes);

// As tau_tlsf_calloc.
void *tau_tlb_color_calloc(struct tau_tlb_color *heap, size_t count, size_t size_bytes);

// As tau_tlsf_aligned_alloc.
void *tau_tlb_color_aligned_alloc(struct tau_tlb_color *heap, size_t alignment, size_t size_bytes);

// As tau_tlsf_realloc. Returns NULL also if POINTER lies in no page of the heap; nothing is
// changed.
void *tau_tlb_color_realloc(struct tau_tlb_color *heap, void *pointer, size_t size_bytes);

// As tau_tlsf_free. Fails also if POINTER lies in no page of the heap (TAU_FOREIGN_POINTER).
// Cost: 16 instructions more.
enum tau_status tau_tlb_color_free(struct tau_tlb_color *heap, void *pointer);

// As tau_tlsf_usable_size, and 0 if POINTER lies in no page of the heap.
size_t tau_tlb_color_usable_size(const struct tau_tlb_color *heap, const void *pointer);

#ifdef __cplusplus
}
#endif

#endif

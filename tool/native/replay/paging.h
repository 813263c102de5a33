// Replays a trace on a heap on pages on the emulated processor, and counts every call: malloc,
// free, and the fault handler for a touch of an unmapped page.
//
// 1. The image holds the shipped core and targets/programs/paged/paged.c, which starts it. The heap
//    is the first piece of the machine's memory, tables and links of frames are after it.
// 2. Whether a page is mapped is read from the tables in the target's memory, as its MMU would. An
//    access of the emulated code to a heap page that is not mapped is a fault of the allocator.
// 3. A touch, the clearing of calloc and the copy of a moving realloc access their pages. A page
//    that is not mapped costs a call of the fault handler. A realloc is a resize in place or, if
//    that is refused, malloc, copy and free. The copy covers the mapped pages of the old object.
// 4. Objects are checked as in replay (content.h). In addition, a page that a live object touched
//    must stay mapped until that object is freed.
//
// Design and invariants: replay.md in docs/design and docs/spec, "Replay on pages". Not thread
// safe.
#ifndef TAU_PAGING_H
#define TAU_PAGING_H

#include <stdint.h>

#include "tool/native/machine/rv32_machine.h"
#include "tool/native/replay/replay.h"

#define TAU_PAGING_BINS_MAX 2048u
#define TAU_PAGING_HEAP_PAGES_MAX (UINT64_C(1) << 18)

enum tau_paging_kind {
    TAU_PAGING_MALLOC = 0,  // calloc too: the clearing is not the allocator's
    TAU_PAGING_ALIGNED_ALLOC,
    TAU_PAGING_RESIZE,
    TAU_PAGING_FREE,
    TAU_PAGING_FAULT,
    TAU_PAGING_KINDS,
};

// Addresses of the target's functions.
struct tau_paging_image {
    struct tau_rv32_image code;
    uint64_t start;  // start of targets/programs/paged/paged.c, with its struct of facts
    uint64_t facts;
    uint64_t functions[TAU_PAGING_KINDS];
    uint64_t alignment;
    uint64_t is_plain;  // the tables are a plain page table, not a validity array
};

struct tau_paging_settings {
    uint64_t heap_pages;
    uint64_t frames_count;
    uint64_t granule_bytes;     // granularity of touches
    uint64_t end_time;          // if the clock counts accesses; 0: another clock
    uint64_t touches_all;       // every object is touched as a whole when it is new
    uint64_t instructions_max;  // per call
};

struct tau_paging_sample {
    uint64_t event;
    uint32_t kind;        // enum tau_paging_kind
    uint32_t size_bytes;  // the object's size
    uint32_t instructions;
    uint32_t accesses;
};

struct tau_paging_result {
    struct tau_replay_result replay;
    uint64_t touches;
    uint64_t faults;
    uint64_t peak_mapped_pages;
    uint64_t end_mapped_pages;
    // The mean of mapped pages is total over weight. With a clock of accesses, each access weighs
    // one. Otherwise each event except touches weighs one, with the pages mapped before it, and so
    // does the end.
    uint64_t mapped_pages_total;
    uint64_t mapped_pages_weight;
    uint64_t table_bytes;
    uint64_t stop;  // enum tau_rv32_stop of a call that did not return; its place:
    uint64_t stop_pc;
    uint64_t stop_address;
    uint64_t bins;
    uint32_t *low;  // fewest and most mapped pages of each bin of events
    uint32_t *high;
    struct tau_paging_sample *samples;  // a call each, in order
    uint64_t samples_count;
    uint64_t samples_capacity;
};

// Runs REPLAY on IMAGE. Returns NULL, or why it could not start. RESULT is freed with
// tau_paging_free.
TAU_TRACE_EXPORT const char *tau_paging_run(const struct tau_paging_image *image,
                                            struct tau_replay *replay,
                                            const struct tau_paging_settings *settings,
                                            struct tau_paging_result *result);
TAU_TRACE_EXPORT void tau_paging_free(struct tau_paging_result *result);

#endif

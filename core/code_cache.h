// The code cache: which frame a page of cold code is loaded into, and which page has to leave
// [P3-3].
//
// A fault at a cold page asks here what to do. Loading, mapping and flushing are the port's. Nobody
// asks who executes a page that leaves: that thread faults again, and loads it again [P3-4]. This
// ends if there are enough frames, and because no policy evicts the page that was loaded last.
// Rules: docs/spec/code_cache.md. Reasons: docs/design/code_cache.md.
//
// The caller holds the lock, if there is one to hold. A refused call has changed nothing. No call
// loops over pages, but tau_code_cache_init; none calls anything outside this file.
#ifndef TAU_CODE_CACHE_H
#define TAU_CODE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/page.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Most frames of a cache: a multiple of 32, at most 224. A build may define it.
#ifndef TAU_CODE_CACHE_FRAMES_MAX
#define TAU_CODE_CACHE_FRAMES_MAX 64u
#endif
#define TAU_CODE_CACHE_WORDS (TAU_CODE_CACHE_FRAMES_MAX / 32u)
#define TAU_CODE_CACHE_PAGES_MAX UINT32_C(65535)
#define TAU_CODE_CACHE_AGE_BITS 8u
#define TAU_CODE_CACHE_PAGE_ABSENT 0xffu  // in page_frames

// Cold pages that one instruction of RISC-V can need: its code and its operand, each on two.
#define TAU_CODE_CACHE_INSTRUCTION_PAGES 4u

// The least frames with which some thread always makes progress.
// - THREADS: how many can preempt each other between a load and the retry. 1 if time slices are
//   longer than loads.
// - INTERRUPT_PAGES: cold pages of all interrupt handlers together, at any rate of interrupts. 0 if
//   a retry sometimes comes before the next interrupt.
#define TAU_CODE_CACHE_FRAMES_LEAST(threads, interrupt_pages)                                      \
    (TAU_CODE_CACHE_INSTRUCTION_PAGES * (threads) + (interrupt_pages))

enum tau_code_cache_policy {
    TAU_CODE_CACHE_ROUND_ROBIN,
    TAU_CODE_CACHE_RANDOM,
    TAU_CODE_CACHE_NRU,    // at random of the pages not used since the last tau_code_cache_age
    TAU_CODE_CACHE_AGING,  // the page unused for longest, over the last 8 periods; lowest frame
};

struct tau_code_cache_settings {
    uint32_t pages_count;
    uint32_t frames_count;
    uint32_t frames_least;  // the frames of the last frames_least - 1 loads are not evicted
    enum tau_code_cache_policy policy;
    uint32_t seed;  // for random victims
};

// All modulo 2^32. Loaded pages: loads - evictions - drops.
struct tau_code_cache_counts {
    uint32_t faults;
    uint32_t loads;
    uint32_t evictions;
    uint32_t drops;
    uint32_t pinned;
};

// One bit per frame: frame f is bit f % 32 of word f / 32.
struct tau_code_cache_flags {
    uint32_t words[TAU_CODE_CACHE_WORDS];
};

struct tau_code_cache {
    uint8_t *page_frames;  // per page: its frame, or why it has none
    uint32_t pages_count;
    uint32_t frames_count;
    uint32_t recent_max;    // frames_least - 1
    uint32_t recent_count;  // below recent_max only until that many pages were loaded
    uint32_t recent_next;   // place of the oldest, once there are recent_max
    uint32_t next_frame;    // round robin's
    uint32_t random;
    enum tau_code_cache_policy policy;
    struct tau_code_cache_counts counts;
    struct tau_code_cache_flags occupied;
    struct tau_code_cache_flags candidates;  // all frames but the recent ones
    struct tau_code_cache_flags used;
    struct tau_code_cache_flags ages[TAU_CODE_CACHE_AGE_BITS];  // lowest bit of each age first
    uint16_t frame_pages[TAU_CODE_CACHE_FRAMES_MAX];
    uint8_t recent[TAU_CODE_CACHE_FRAMES_MAX];
};

enum tau_code_cache_action {
    TAU_CODE_CACHE_RETRY,    // the page is in the frame: make sure that it is mapped
    TAU_CODE_CACHE_LOAD,     // copy the page into the frame, which is empty, and map it
    TAU_CODE_CACHE_REPLACE,  // unmap the evicted page and flush its translation; then as LOAD
};

struct tau_code_cache_answer {
    enum tau_code_cache_action action;
    struct tau_frame frame;
    struct tau_page evicted;  // has a meaning if the action is REPLACE
};

// Makes an empty cache. PAGE_FRAMES is memory of one byte per page, which the cache keeps.
// Fails if and only if:
// - PAGE_FRAMES is NULL, pages are none or more than TAU_CODE_CACHE_PAGES_MAX, frames are more than
//   TAU_CODE_CACHE_FRAMES_MAX, frames_least is 0, or the policy is unknown (TAU_BAD_ARGUMENT)
// - there are fewer than frames_least frames (TAU_FRAMES_TOO_FEW)
// Cost: one store per page.
enum tau_status tau_code_cache_init(struct tau_code_cache *cache,
                                    const struct tau_code_cache_settings *settings,
                                    uint8_t *page_frames);

// Decides what a fault at PAGE needs, and stores it at ANSWER. The page counts as loaded from now
// on; if it cannot be loaded, tau_code_cache_drop takes that back.
// Fails if and only if:
// - PAGE does not exist (TAU_PAGE_OUTSIDE)
// - it is pinned (TAU_PAGE_PINNED)
// Cost: 253 instructions (231 with Zbb), 88 accesses.
enum tau_status tau_code_cache_fault(struct tau_code_cache *cache, struct tau_page page,
                                     struct tau_code_cache_answer *answer);

// Notes that the frames in FLAGS were used. Flags beyond the last frame are ignored.
// Cost: 9 instructions (9 with Zbb), 6 accesses.
void tau_code_cache_use(struct tau_code_cache *cache, const struct tau_code_cache_flags *flags);

// Ends a period: the use of each page becomes a bit of its age, and nothing counts as used. The
// port clears the accessed bits of its entries, and flushes the TLB, between its last
// tau_code_cache_use and this.
// Cost: 39 instructions (39 with Zbb), 36 accesses.
void tau_code_cache_age(struct tau_code_cache *cache);

// Empties FRAME. The port has unmapped its page, or never mapped it.
// Fails if and only if:
// - FRAME does not exist (TAU_FRAME_OUTSIDE)
// - it is empty (TAU_FRAME_FREE)
// Cost: 31 instructions (30 with Zbb), 9 accesses.
enum tau_status tau_code_cache_drop(struct tau_code_cache *cache, struct tau_frame frame);

// Pins PAGE: it stays in memory of its own, and is never loaded.
// Fails if and only if:
// - PAGE does not exist (TAU_PAGE_OUTSIDE)
// - it is pinned (TAU_PAGE_PINNED)
// - it is in a frame (TAU_PAGE_MAPPED)
// Cost: 15 instructions (15 with Zbb), 6 accesses.
enum tau_status tau_code_cache_pin(struct tau_code_cache *cache, struct tau_page page);

// Bounded self test: a few steps per word of flags. The full walk is
// core/tests/checks/check_code_cache.c.
bool tau_code_cache_invariants_hold(const struct tau_code_cache *cache);

#ifdef __cplusplus
}
#endif

#endif

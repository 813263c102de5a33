// Cold code on RISC-V Sv39: loads a page of code into a frame of the code cache when it is executed
// or read [P3-3]. core/code_cache.h decides which frame; this is the order of the steps, on one
// hart.
//
// A page of cold code is linked at a virtual address that maps nothing. The fault handler of the
// port's user calls tau_sv39_code_fault before anything else, with interrupts off, and returns from
// the trap: the instruction is executed again [P3-7]. What the handler executes, and its data, must
// be resident. The calls need nothing outside this file and core/code_cache.c, not even memcpy.
//
// At boot all pages may be in memory, as code that was never cold. tau_sv39_code_release_page then
// compares a page with the store, and takes its frame away if they are equal.
//
// Design: docs/design/sv39_code.md. Steps and why their order is safe: docs/spec/sv39_code.md.
//
// The calls are not reentrant; the caller has interrupts off. Entries are global: one kernel half
// of all address spaces. Bounds are in instructions on RV64IMAC at -O2, with asserts off and
// fences included.
#ifndef TAU_SV39_CODE_H
#define TAU_SV39_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/code_cache.h"
#include "core/page.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// How a port flushes: the translations of one ADDRESS in all address spaces, all translations, and
// fetched instructions that have been overwritten since.
#if !defined(TAU_SV39_CODE_FLUSH) && defined(__riscv)
#define TAU_SV39_CODE_FLUSH(address)                                                               \
    __asm__ volatile("sfence.vma %0, zero" : : "r"((uintptr_t)(address)) : "memory")
#define TAU_SV39_CODE_FLUSH_ALL() __asm__ volatile("sfence.vma" : : : "memory")
#define TAU_SV39_CODE_FETCH_ANEW() __asm__ volatile("fence.i" : : : "memory")
#elif !defined(TAU_SV39_CODE_FLUSH)
#define TAU_SV39_CODE_FLUSH(address) ((void)(address))
#define TAU_SV39_CODE_FLUSH_ALL() ((void)0)
#define TAU_SV39_CODE_FETCH_ANEW() ((void)0)
#endif

// Frames of which one tau_sv39_code_visit reads the accessed bits. It divides 32.
#define TAU_SV39_CODE_VISITED 4u

// Of an entry: the hart, or a fault, sets it when the page is accessed.
#define TAU_SV39_CODE_ACCESSED_BIT 6u
#define TAU_SV39_CODE_ACCESSED (UINT64_C(1) << TAU_SV39_CODE_ACCESSED_BIT)

struct tau_sv39_code_frame {
    uint64_t *memory;  // where the handler writes it
    uint64_t number;   // its physical page number
};

// Where everything is. The memory that it points to belongs to the cache from init on.
struct tau_sv39_code_place {
    uintptr_t first;          // virtual address of page 0; the others follow
    uint64_t *const *tables;  // level-0 tables: the one that FIRST lies in, and those after it
    const uint64_t *store;    // the content of all pages, in order; NULL: see tau_sv39_code_begin
    const struct tau_sv39_code_frame *frames;
};

// All zero, it is a cache without pages, which refuses every fault.
struct tau_sv39_code {
    struct tau_code_cache cache;
    struct tau_sv39_code_place place;
    uint64_t no_entry;                             // 0: the entry of an empty frame
    uint32_t next_visited;                         // a multiple of TAU_SV39_CODE_VISITED
    uint32_t visits_left;                          // until a period ends
    uint64_t *entries[TAU_CODE_CACHE_FRAMES_MAX];  // the entry of each frame's page
};

// A load that has begun.
struct tau_sv39_code_load {
    struct tau_page page;
    struct tau_frame frame;
    bool is_needed;  // false: the frame already has the content
};

// Makes an empty cache. PAGE_FRAMES is memory of one byte per page. No entry is changed.
// Fails if and only if:
// - FIRST is not a multiple of a page, or the last page would wrap around (TAU_BAD_ARGUMENT)
// - TABLES or FRAMES is NULL, or STORE is not aligned to 8 bytes (TAU_BAD_ARGUMENT)
// - a frame's memory is NULL or not aligned to a page, or its number is too large for Sv39
//   (TAU_BAD_ARGUMENT)
// - tau_code_cache_init refuses SETTINGS or PAGE_FRAMES (its reasons)
// Cost: a few steps per frame and per page.
enum tau_status tau_sv39_code_init(struct tau_sv39_code *code,
                                   const struct tau_code_cache_settings *settings,
                                   const struct tau_sv39_code_place *place, uint8_t *page_frames);

// Unmaps PAGE, which is in a frame of its own since boot, if it equals CONTENT. Then the frame is
// the caller's, and the page is cold from now on.
// Fails if and only if:
// - PAGE does not exist (TAU_PAGE_OUTSIDE)
// - it is in a frame of the cache (TAU_PAGE_MAPPED), or already unmapped (TAU_FRAME_FREE)
// - it differs (TAU_PAGE_PINNED): it stays where it is from now on, and counts as pinned; also if
//   it was pinned before
// Cost: reads the page and CONTENT once.
enum tau_status tau_sv39_code_release_page(struct tau_sv39_code *code, struct tau_page page,
                                           const uint64_t *content);

// The fault handler: makes the page at ADDRESS present for ACCESS, which is TAU_EXECUTE or
// TAU_READ.
// Fails if and only if:
// - there is no STORE (TAU_BAD_ARGUMENT)
// - ADDRESS is in no page of the cache (TAU_PAGE_OUTSIDE): the fault is another handler's
// - ACCESS is TAU_WRITE (TAU_ACCESS_DENIED): code is read only [P3-6]
// - the page is pinned (TAU_PAGE_PINNED): it was unmapped by somebody else
// Cost: 368 instructions, and 1,143 of tau_sv39_code_read.
enum tau_status tau_sv39_code_fault(struct tau_sv39_code *code, uintptr_t address, uint32_t access);

// tau_sv39_code_fault in steps, for a store that is not memory: begin; then, if the load is needed,
// the caller writes the page into the frame's memory; then end, or cancel if it could not be read.
// Between begin and end no other call is allowed, and nothing may execute or read a cold page.
// begin fails as tau_sv39_code_fault, but needs no STORE.
enum tau_status tau_sv39_code_begin(struct tau_sv39_code *code, uintptr_t address, uint32_t access,
                                    struct tau_sv39_code_load *load);

// Copies the page of LOAD from STORE into its frame.
void tau_sv39_code_read(struct tau_sv39_code *code, const struct tau_sv39_code_load *load);

// Maps the page of LOAD, whose frame has its content.
void tau_sv39_code_end(struct tau_sv39_code *code, const struct tau_sv39_code_load *load);

// Takes LOAD back: the frame is empty, the page absent. The fault cannot be served.
void tau_sv39_code_cancel(struct tau_sv39_code *code, const struct tau_sv39_code_load *load);

// For a fault that must be short: passes the accessed bits of the next TAU_SV39_CODE_VISITED frames
// on, and clears them. Each call visits other frames, until all were visited. Of as many calls as
// there are frames, the last one ends a period instead. Nobody then calls tau_sv39_code_use or
// tau_sv39_code_age (core/ports/sv39_code_ages.h).
// Cost: at most 56 instructions, for any number of frames.
void tau_sv39_code_visit(struct tau_sv39_code *code);

// Constant-time self test. core/tests/sv39_code walks everything.
bool tau_sv39_code_invariants_hold(const struct tau_sv39_code *code);

#ifdef __cplusplus
}
#endif

#endif

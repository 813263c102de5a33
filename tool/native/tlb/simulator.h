// A simulator of TLBs: any geometry, five replacement policies, evictions by whom.
//
// docs/spec/tlb_color.md ([CLR-14] ... [CLR-16]) defines what an access does.
// model/tlb_color/simulator.py is the same, naively. Time: linear in the ways of the sets that are
// looked at. Memory: linear in entries. One thread per simulator.
#ifndef TAU_TLB_SIMULATOR_H
#define TAU_TLB_SIMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tlb_color.h"
#include "tool/native/trace/trace.h"

#define TAU_TLB_ARRAYS_MAX 16u
#define TAU_TLB_STRUCTURES_MAX 32u
#define TAU_TLB_ENTRIES_MAX (1u << 22)  // in all arrays together
#define TAU_TLB_OWNERS_MAX 65536u

enum tau_tlb_policy {
    TAU_TLB_LRU,
    TAU_TLB_PLRU,
    TAU_TLB_NRU,
    TAU_TLB_RANDOM,
    TAU_TLB_ADVERSARIAL,
    TAU_TLB_POLICIES_COUNT,
};

// Accesses to data or code in pages of one size, in order.
struct tau_tlb_accesses {
    const uint32_t *owners;
    const uint64_t *addresses;
    size_t count;
    uint32_t role;  // TAU_TLB_COLOR_DATA or TAU_TLB_COLOR_CODE
    uint32_t page_log2;
};

struct tau_tlb_simulator;

// SEED is the first number of each array's LFSR. Fails (NULL) if and only if memory is short, the
// geometry breaks [CLR-2] or [CLR-4], it has more than TAU_TLB_ENTRIES_MAX entries, or a number is
// outside its limits.
TAU_TRACE_EXPORT struct tau_tlb_simulator *
tau_tlb_simulator_new(const struct tau_tlb_color_geometry *geometry, enum tau_tlb_policy policy,
                      uint16_t seed, uint32_t owners_count);
TAU_TRACE_EXPORT void tau_tlb_simulator_delete(struct tau_tlb_simulator *simulator);

// Runs ACCESSES. Fails (false) if and only if an owner is not below owners_count, or no structure
// translates such pages; then the accesses before it were run.
TAU_TRACE_EXPORT bool tau_tlb_simulator_run(struct tau_tlb_simulator *simulator,
                                            const struct tau_tlb_accesses *accesses);

// The walks of each owner.
TAU_TRACE_EXPORT const uint64_t *
tau_tlb_simulator_misses(const struct tau_tlb_simulator *simulator);
// At 2 * STRUCTURE: lookups in it that hit so far; at the next place, those that missed.
TAU_TRACE_EXPORT const uint64_t *
tau_tlb_simulator_lookups(const struct tau_tlb_simulator *simulator);
// At BY * owners_count + OF: evictions of OF's entries by BY, in arrays with more than one set.
TAU_TRACE_EXPORT const uint64_t *
tau_tlb_simulator_evictions(const struct tau_tlb_simulator *simulator);

#endif

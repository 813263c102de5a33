// The writer's table of call sites: (module, offset, caller) to an index that counts from 1.
#ifndef TAU_TRACE_SITES_H
#define TAU_TRACE_SITES_H

#include "tool/native/trace/trace.h"

struct tau_trace_site_entry {
    uint64_t hash;
    uint64_t offset;
    char *module;
    uint32_t caller;  // the index of the site that called this one's function; 0: not recorded
};

struct tau_trace_sites {
    struct tau_trace_site_entry *entries;  // entry i has index i + 1
    uint32_t count, room;
    uint32_t *index_of_hash;  // 0: empty
    uint32_t hash_bits;
    bool has_callers;
};

// A zeroed table is empty and needs no opening.
void tau_trace_sites_close(struct tau_trace_sites *sites);
// The index of the three, new or known; 0 iff memory is short or the module is too long. O(1)
// expected.
uint32_t tau_trace_sites_index(struct tau_trace_sites *sites, const char *module, uint64_t offset,
                               uint32_t caller);

#endif

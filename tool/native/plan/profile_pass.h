// Shared by the two passes of a profile, and private to them. See profile.h.
#ifndef TAU_PROFILE_PASS_H
#define TAU_PROFILE_PASS_H

#include <stdbool.h>

#include "tool/native/plan/profile.h"

// The number of kept instants that a new one is compared with. On recorded programs, 8 drops nearly
// as many as 64.
#define REFERENCES 8u
#define ID_NONE 0xffffffffu  // no object, or an object without bytes
#define SLOT_FREE 0xffffffffu

// One distinct size; aligned objects have their own, since they can never be a class.
struct size_entry {
    uint64_t key;  // size rounded up, lowest bit set if aligned beyond the granule
    uint64_t allocations, grown, peak_live, live_at_peak;
    uint64_t live_at_prefix_peak[TAU_PROFILE_PREFIXES];
    uint64_t live;
    uint64_t record,
        live_at_record;  // what was live when the trace's live bytes last grew to a record
    uint32_t dimension;  // the class in the reduction; classes_count for everything else
};

struct change_list {
    struct tau_profile_change *items;
    size_t count, capacity;
};

// The instants kept so far. A dimension is a class, the last one the bytes of everything else.
struct reduction {
    size_t classes_count;
    uint64_t *sizes_bytes;
    uint64_t *value, *emitted;  // of each dimension: now, and at the last kept instant
    uint64_t *reference;        // of each dimension, one reference behind the other
    struct change_list *changes;
    uint32_t *dirty;  // dimensions changed since the last kept instant
    uint8_t *is_dirty;
    size_t dirty_count;
    int64_t above[REFERENCES],
        below[REFERENCES];  // dimensions in which now is above, below the reference
    uint64_t reference_instant[REFERENCES];
    unsigned references_count, reference_next;
    uint8_t *dead;  // kept instants that a later one dominates
    size_t instants_count, instants_capacity;
    bool rising;  // a count grew since the last instant that was offered
};

struct tau_profile {
    uint64_t granule_bytes;
    struct size_entry *entries;
    size_t entries_count, entries_capacity;
    uint32_t *table;  // hash table of entry index + 1
    size_t table_size;
    uint32_t *slots;
    size_t slots_capacity;
    size_t traces_count;  // surveyed
    struct reduction reduction;
};

// A pass hands over each event as: the object of OLD is gone, the object of NEW is there (ID_NONE:
// there is none).
struct pass {
    struct tau_profile *profile;
    struct tau_profile_survey *survey;
    bool (*step)(struct pass *pass, uint32_t old_id, uint32_t new_id);
    bool is_survey;
    unsigned prefix;  // how many prefixes have ended
    uint64_t live_bytes;
    uint64_t record;  // how often live_bytes was larger than ever before
};

// Reserves memory for WANTED items of ITEM_BYTES. False if memory is short; then nothing has
// changed.
bool tau_profile_grow(void **items, size_t *capacity, size_t wanted, size_t item_bytes);
// Rebuilds the hash table of sizes with SIZE places, a power of two. False if memory is short.
bool tau_profile_table_rebuild(struct tau_profile *profile, size_t size);
// Passes every event of the trace of READER, except misuse, to the pass's step.
enum tau_profile_status tau_profile_pass_run(struct pass *pass, struct tau_trace_reader *reader);
void tau_profile_reduction_free(struct reduction *reduction);

#endif

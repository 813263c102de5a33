// The stacks of a recording by their sites (facts/recording.h).
#ifndef TAU_MERGE_STACKS_H
#define TAU_MERGE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tau_merge_stack {
    uint64_t site;
    size_t at;  // of its first address
    size_t frames;
};

struct tau_merge_stacks {
    uint64_t *addresses;
    size_t addresses_count;
    struct tau_merge_stack *stacks;  // by site, once they are sorted
    size_t count;
};

// Adds the stacks of a chunk's BYTES. Reading ends at the first that makes no sense. False if and
// only if memory is short.
bool tau_merge_stacks_add(struct tau_merge_stacks *stacks, const void *bytes, size_t size_bytes);
// Call once, after all were added.
void tau_merge_stacks_sort(struct tau_merge_stacks *stacks);
// The number of frames of the stack with SITE, and their addresses, the innermost first; 0 if there
// is no such stack. O(log n).
size_t tau_merge_stacks_find(const struct tau_merge_stacks *stacks, uint64_t site,
                             const uint64_t **addresses);
void tau_merge_stacks_close(struct tau_merge_stacks *stacks);

#endif

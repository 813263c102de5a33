// The recorder may write a stack more than once, always with the same addresses.
#include "tool/native/record/merge_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "facts/recording.h"

#define HEAD_WORDS 2u

bool tau_merge_stacks_add(struct tau_merge_stacks *stacks, const void *bytes, size_t size_bytes) {
    const size_t words = size_bytes / sizeof(uint64_t);
    uint64_t *addresses =
        realloc(stacks->addresses, (stacks->addresses_count + words) * sizeof(*addresses));
    if (addresses == NULL) {
        return false;
    }
    stacks->addresses = addresses;
    struct tau_merge_stack *found =
        realloc(stacks->stacks, (stacks->count + words / HEAD_WORDS) * sizeof(*found));
    if (found == NULL) {
        return false;
    }
    stacks->stacks = found;
    const uint8_t *at = bytes;
    size_t left = words;
    while (left >= HEAD_WORDS) {  // bound: left falls
        uint64_t head[HEAD_WORDS];
        memcpy(head, at, sizeof(head));
        left -= HEAD_WORDS;
        if ((head[0] & TAU_RAW_STACK_BIT) == 0 || head[1] > TAU_RAW_STACK_FRAMES_MAX ||
            head[1] > left) {
            break;
        }
        const size_t frames = (size_t)head[1];
        found[stacks->count++] = (struct tau_merge_stack){head[0], stacks->addresses_count, frames};
        memcpy(addresses + stacks->addresses_count, at + sizeof(head), frames * sizeof(uint64_t));
        stacks->addresses_count += frames;
        left -= frames;
        at += sizeof(head) + frames * sizeof(uint64_t);
    }
    return true;
}

static int site_order(const void *left, const void *right) {
    const uint64_t a = ((const struct tau_merge_stack *)left)->site;
    const uint64_t b = ((const struct tau_merge_stack *)right)->site;
    return a < b ? -1 : a > b;
}

void tau_merge_stacks_sort(struct tau_merge_stacks *stacks) {
    if (stacks->count > 0) {
        qsort(stacks->stacks, stacks->count, sizeof(*stacks->stacks), site_order);
    }
}

size_t tau_merge_stacks_find(const struct tau_merge_stacks *stacks, uint64_t site,
                             const uint64_t **addresses) {
    const struct tau_merge_stack key = {.site = site};
    const struct tau_merge_stack *found =
        stacks->count == 0 ? NULL
                           : bsearch(&key, stacks->stacks, stacks->count, sizeof(key), site_order);
    if (found == NULL) {
        return 0;
    }
    *addresses = stacks->addresses + found->at;
    return found->frames;
}

void tau_merge_stacks_close(struct tau_merge_stacks *stacks) {
    free(stacks->addresses);
    free(stacks->stacks);
    memset(stacks, 0, sizeof(*stacks));
}

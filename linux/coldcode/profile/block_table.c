#include "linux/coldcode/profile/block_table.h"

#include <stdlib.h>

#define HEADS_LOG2_FIRST 12u
#define COUNTERS 4096u  // that are allocated at once

static size_t hash_of(uint64_t start, uint32_t heads_log2) {
    // Fibonacci hashing: the high bits of a product with 2^64 over the golden ratio.
    return (size_t)((start * UINT64_C(0x9e3779b97f4a7c15)) >> (64u - heads_log2));
}

static void insert(struct tau_block **heads, uint32_t heads_log2, struct tau_block *block) {
    struct tau_block **head = &heads[hash_of(block->start, heads_log2)];
    block->next = *head;
    *head = block;
}

// Doubles the heads, so that chains stay short.
static bool grow(struct tau_block_table *table) {
    const uint32_t wider = table->heads == NULL ? HEADS_LOG2_FIRST : table->heads_log2 + 1;
    struct tau_block **heads = calloc((size_t)1 << wider, sizeof *heads);
    if (heads == NULL) {
        return false;
    }
    for (size_t index = 0; table->heads != NULL && index >> table->heads_log2 == 0; index++) {
        struct tau_block *next;
        for (struct tau_block *block = table->heads[index]; block != NULL; block = next) {
            next = block->next;
            insert(heads, wider, block);
        }
    }
    free(table->heads);
    table->heads = heads;
    table->heads_log2 = wider;
    return true;
}

static struct tau_block_counter *new_counter(struct tau_block_table *table) {
    if (table->counters_left == 0) {
        table->counters = malloc(COUNTERS * sizeof *table->counters);
        table->counters_left = table->counters == NULL ? 0 : COUNTERS;
    }
    return table->counters_left == 0 ? NULL : &table->counters[--table->counters_left];
}

struct tau_block *tau_block_table_get(struct tau_block_table *table,
                                      const struct tau_block *wanted) {
    if ((table->heads == NULL || table->count >> table->heads_log2 != 0) && !grow(table)) {
        return NULL;
    }
    struct tau_block *block = table->heads[hash_of(wanted->start, table->heads_log2)];
    for (; block != NULL; block = block->next) {
        if (block->start == wanted->start && block->bytes == wanted->bytes &&
            block->code_checksum == wanted->code_checksum) {
            return block;
        }
    }
    struct tau_block_counter *counter = new_counter(table);
    block = malloc(sizeof *block);
    if (counter == NULL || block == NULL) {
        free(block);
        return NULL;
    }
    *counter = *wanted->counter;
    *block = *wanted;
    block->counter = counter;
    insert(table->heads, table->heads_log2, block);
    table->count++;
    return block;
}

void tau_block_table_end_boot(struct tau_block_table *table) {
    for (size_t index = 0; table->heads != NULL && index >> table->heads_log2 == 0; index++) {
        for (struct tau_block *block = table->heads[index]; block != NULL; block = block->next) {
            block->boot_count = block->counter->count;
        }
    }
}

static int in_order(const void *left, const void *right) {
    const struct tau_block *one = *(struct tau_block *const *)left;
    const struct tau_block *other = *(struct tau_block *const *)right;
    if (one->start != other->start) {
        return one->start < other->start ? -1 : 1;
    }
    if (one->bytes != other->bytes) {
        return one->bytes < other->bytes ? -1 : 1;
    }
    return one->code_checksum < other->code_checksum ? -1 : 1;
}

struct tau_block **tau_block_table_sorted(const struct tau_block_table *table, uint32_t *count) {
    struct tau_block **sorted = malloc(((size_t)table->count + 1) * sizeof(struct tau_block *));
    *count = 0;
    if (sorted == NULL) {
        return NULL;
    }
    for (size_t index = 0; table->heads != NULL && index >> table->heads_log2 == 0; index++) {
        for (struct tau_block *block = table->heads[index]; block != NULL; block = block->next) {
            if (block->counter->count > 0) {
                sorted[(*count)++] = block;
            }
        }
    }
    qsort(sorted, *count, sizeof *sorted, in_order);
    return sorted;
}

// Every block that was translated, and how often it was executed.
//
// A block is a run of instructions of one function that QEMU translated together. QEMU may
// translate the same code again, cut elsewhere: blocks overlap, and an instruction was executed as
// often as all blocks that hold it together. Counters stay where they are: translated code points
// to them.
#ifndef TAU_BLOCK_TABLE_H
#define TAU_BLOCK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What each execution of a block needs, apart from the rest: four are in one line of a cache.
struct tau_block_counter {
    uint64_t count;         // executions so far
    uint32_t instructions;  // in the block
    uint32_t function;
};

struct tau_block {
    struct tau_block_counter *counter;
    uint64_t start;
    uint32_t bytes;
    uint32_t code_checksum;
    uint64_t boot_count;     // executions before the marker
    struct tau_block *next;  // with the same hash
};

// All-zero bytes are an empty table.
struct tau_block_table {
    struct tau_block **heads;  // 2^heads_log2
    uint32_t heads_log2;
    uint32_t count;
    struct tau_block_counter *counters;  // for the next blocks
    uint32_t counters_left;
};

// The block with WANTED's start, bytes and checksum, made with WANTED's fields and a copy of its
// counter if there is none. NULL if memory is short.
struct tau_block *tau_block_table_get(struct tau_block_table *table,
                                      const struct tau_block *wanted);

// Takes all executions so far as those before the marker.
void tau_block_table_end_boot(struct tau_block_table *table);

// Every executed block by start, bytes and checksum; their number in *COUNT. NULL if memory is
// short. The caller frees it.
struct tau_block **tau_block_table_sorted(const struct tau_block_table *table, uint32_t *count);

#endif

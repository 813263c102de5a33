// Operations in a file without a name, packed: a long trace is decoded once and read again from
// here for each run.
//
// An operation takes 8 bytes, a rare one 24. The file has no name from the start, so an
// interruption leaves nothing behind. Reading is safe from several threads, each with its own
// buffer.
#ifndef TAU_SPOOL_H
#define TAU_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/native/replay/replay.h"

struct tau_spool;

// Room for one packed block, for tau_spool_write and tau_spool_read.
#define TAU_SPOOL_BUFFER_BYTES ((size_t)24 * TAU_TRACE_BLOCK_EVENTS_MAX)

// Fails (NULL) if there is no folder for a file, or memory is short.
struct tau_spool *tau_spool_open(void);
void tau_spool_close(struct tau_spool *spool);
// Appends a block of COUNT operations, at most TAU_TRACE_BLOCK_EVENTS_MAX. False: the disk is full,
// or memory is short.
bool tau_spool_write(struct tau_spool *spool, uint8_t *buffer, const struct tau_replay_op *ops,
                     size_t count);
// Reads a block that was written. False: the file could not be read.
bool tau_spool_read(const struct tau_spool *spool, uint64_t block, uint8_t *buffer,
                    struct tau_replay_op *ops, size_t *count);

#endif

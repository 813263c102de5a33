// A trace that is open for replays: what was decoded of it, and what its runs use. For replay.c and
// decoded.c only.
#ifndef TAU_DECODED_H
#define TAU_DECODED_H

#include "tool/native/replay/content.h"
#include "tool/native/replay/replay.h"
#include "tool/native/replay/spool.h"

struct tau_replay {
    struct tau_trace_reader *reader;
    struct tau_replay_facts facts;
    struct tau_replay_op *ops;  // all events, or one block when the trace is streamed
    bool is_in_memory;
    struct tau_spool *spool;  // of a streamed trace; NULL: its file is decoded for each walk
    uint8_t *spool_buffer;
    uint64_t next_block;  // for the walk under way; in memory, all events are one block
    uint64_t blocks;
    struct tau_trace_columns columns;
    void *columns_memory;
    struct tau_content_object *objects;  // one a slot
    uint8_t *arena_mapping;
    uint64_t arena_mapping_bytes;
    uint8_t *arena;
    uint64_t arena_bytes;
    struct tau_content content;
};

#endif

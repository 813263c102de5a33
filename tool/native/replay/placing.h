// The core's heaps as placements only: what a search replays thousands of times.
//
// The TLSF is core/tlsf.c itself, compiled into the loop over the operations, with no payload
// copied. A class of a plan is a count: which of its buckets an object gets changes nothing for any
// other object. An object is placed, or refused, exactly as the heap with this plan does it
// (docs/spec/replay.md, [REPLAY-16]).
//
// Time: O(1) an operation. Memory: 8 bytes a slot. One thread per object of this type.
#ifndef TAU_PLACING_H
#define TAU_PLACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/budget.h"
#include "tool/native/replay/replay.h"

struct tau_placing;

// A heap with COUNT classes, whose tables and regions take FIXED_BYTES; the shared TLSF follows.
// Fails (NULL) if and only if memory is short.
TAU_TRACE_EXPORT struct tau_placing *tau_placing_open(const struct tau_budget_class *classes,
                                                      size_t count, size_t fixed_bytes);
TAU_TRACE_EXPORT void tau_placing_close(struct tau_placing *placing);
// Starts with an empty heap of HEAP_BYTES at ARENA, FIXED_BYTES or more, and SLOTS_COUNT slots.
// False: memory is short.
TAU_TRACE_EXPORT bool tau_placing_start(struct tau_placing *placing, uint8_t *arena,
                                        size_t heap_bytes, size_t slots_count);
// Executes operations. Returns how many succeeded: fewer than COUNT if memory was refused.
TAU_TRACE_EXPORT size_t tau_placing_execute(struct tau_placing *placing,
                                            const struct tau_replay_op *ops, size_t count);
// Bytes at the heap's end that no object needed, after all operations succeeded. A heap smaller by
// as many, with equal tables, places every object in the same place. SIZE_MAX if a decision
// depended on the end of the heap: a larger one may place objects elsewhere.
TAU_TRACE_EXPORT size_t tau_placing_untouched(const struct tau_placing *placing);
// See tau_system_core_tables.
TAU_TRACE_EXPORT void tau_placing_tables(const struct tau_placing *placing, size_t heap_bytes,
                                         bool is_by_level, struct tau_replay_tables *tables);
// Starts to count, then counts the blocks of live objects. tau_placing_least returns what a heap
// with these classes needs for them and for its tables.
TAU_TRACE_EXPORT bool tau_placing_count_start(struct tau_placing *placing, size_t slots_count);
TAU_TRACE_EXPORT void tau_placing_count(struct tau_placing *placing,
                                        const struct tau_replay_op *ops, size_t count);
TAU_TRACE_EXPORT size_t tau_placing_least(const struct tau_placing *placing);

#endif

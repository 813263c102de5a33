// Validates a whole trace: every chunk's checksum, every event's rules, and the footer against the
// events.
#ifndef TAU_TRACE_CHECK_H
#define TAU_TRACE_CHECK_H

#include "tool/native/trace/trace.h"

struct tau_trace_checker;

// NULL iff memory is short. The reader stays the caller's.
TAU_TRACE_EXPORT struct tau_trace_checker *tau_trace_checker_open(struct tau_trace_reader *reader);
// Checks block INDEX; call for each in order. TAU_TRACE_CORRUPT: the block cannot be read.
// TAU_TRACE_BAD_EVENT: an event breaks tau_trace_checker_rule, its index is
// tau_trace_checker_event. After either, later blocks are only unpacked, because the state of the
// objects is unknown.
TAU_TRACE_EXPORT enum tau_trace_status tau_trace_checker_block(struct tau_trace_checker *checker,
                                                               uint64_t index);
TAU_TRACE_EXPORT const char *tau_trace_checker_rule(const struct tau_trace_checker *checker);
TAU_TRACE_EXPORT uint64_t tau_trace_checker_event(const struct tau_trace_checker *checker);
// After all blocks without a problem: the name of the first total that the footer has wrong,
// "sizes", or NULL.
TAU_TRACE_EXPORT const char *tau_trace_checker_totals(const struct tau_trace_checker *checker);
TAU_TRACE_EXPORT void tau_trace_checker_close(struct tau_trace_checker *checker);

#endif

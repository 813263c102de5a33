// Memory for events as columns, and one event as a row of it.
#ifndef TAU_TRACE_COLUMNS_H
#define TAU_TRACE_COLUMNS_H

#include "tool/native/trace/trace.h"

struct tau_trace_event {
    uint64_t time_ns;
    uint64_t size_bytes;
    uint32_t slot;
    uint32_t thread;
    uint32_t site;
    uint8_t op;
    uint8_t flags;
    uint8_t align_log2;
};

// Makes room for EVENTS events. False if and only if memory is short; close in both cases.
bool tau_trace_columns_open(struct tau_trace_columns *columns, size_t events);
void tau_trace_columns_close(struct tau_trace_columns *columns);
// The same columns without the first FROM events.
struct tau_trace_columns tau_trace_columns_from(const struct tau_trace_columns *columns,
                                                size_t from);

static inline void tau_trace_columns_put(const struct tau_trace_columns *columns, size_t at,
                                         const struct tau_trace_event *event) {
    columns->time_ns[at] = event->time_ns;
    columns->size_bytes[at] = event->size_bytes;
    columns->slot[at] = event->slot;
    columns->thread[at] = event->thread;
    columns->site[at] = event->site;
    columns->op[at] = event->op;
    columns->flags[at] = event->flags;
    columns->align_log2[at] = event->align_log2;
}

#endif

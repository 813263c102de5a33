// All columns lie in one piece of memory, the widest first, so that each is aligned.
#include "tool/native/trace/columns.h"

#include <stdlib.h>

#define EVENT_BYTES (2u * sizeof(uint64_t) + 3u * sizeof(uint32_t) + 3u)

bool tau_trace_columns_open(struct tau_trace_columns *columns, size_t events) {
    uint64_t *wide = malloc(events * EVENT_BYTES);
    *columns = (struct tau_trace_columns){0};
    if (wide == NULL) {
        return false;
    }
    uint32_t *words = (uint32_t *)(wide + 2 * events);
    uint8_t *bytes = (uint8_t *)(words + 3 * events);
    *columns = (struct tau_trace_columns){
        .time_ns = wide,
        .size_bytes = wide + events,
        .slot = words,
        .thread = words + events,
        .site = words + 2 * events,
        .op = bytes,
        .flags = bytes + events,
        .align_log2 = bytes + 2 * events,
    };
    return true;
}

void tau_trace_columns_close(struct tau_trace_columns *columns) {
    free(columns->time_ns);
}

struct tau_trace_columns tau_trace_columns_from(const struct tau_trace_columns *columns,
                                                size_t from) {
    return (struct tau_trace_columns){
        .time_ns = columns->time_ns + from,
        .size_bytes = columns->size_bytes + from,
        .slot = columns->slot + from,
        .thread = columns->thread + from,
        .site = columns->site == NULL ? NULL : columns->site + from,
        .op = columns->op + from,
        .flags = columns->flags + from,
        .align_log2 = columns->align_log2 == NULL ? NULL : columns->align_log2 + from,
    };
}

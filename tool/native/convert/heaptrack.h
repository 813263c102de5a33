// The form heaptrack of an import; what it reads is described in heaptrack.c.
#ifndef TAU_TRACE_HEAPTRACK_H
#define TAU_TRACE_HEAPTRACK_H

#include "tool/native/convert/importer.h"

tau_trace_line_taker tau_trace_heaptrack_line;
// Whether the input was complete.
bool tau_trace_heaptrack_end(struct tau_trace_importer *importer);
size_t tau_trace_heaptrack_state_bytes(void);
// Frees the memory of a heaptrack state, but not the state itself.
void tau_trace_heaptrack_close(void *state);

#endif

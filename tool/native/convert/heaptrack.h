// The form heaptrack of an import; what it reads is described in heaptrack.c.
#ifndef TAU_TRACE_HEAPTRACK_H
#define TAU_TRACE_HEAPTRACK_H

#include "tool/native/convert/importer.h"

tau_trace_line_taker tau_trace_heaptrack_line;
// Whether what came is a whole file.
bool tau_trace_heaptrack_end(struct tau_trace_importer *importer);
size_t tau_trace_heaptrack_state_bytes(void);
// Frees what a heaptrack state owns; the state itself stays.
void tau_trace_heaptrack_close(void *state);

#endif

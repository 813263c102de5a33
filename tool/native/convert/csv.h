// The form CSV of an import; what it reads is described in csv.c.
#ifndef TAU_TRACE_CSV_H
#define TAU_TRACE_CSV_H

#include "tool/native/convert/importer.h"

tau_trace_line_taker tau_trace_csv_line;
// Whether the input was complete.
bool tau_trace_csv_end(struct tau_trace_importer *importer);
size_t tau_trace_csv_state_bytes(void);

#endif

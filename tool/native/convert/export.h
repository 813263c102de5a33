// Writes a trace as CSV, one block at a time, with the columns that csv.c reads.
#ifndef TAU_TRACE_EXPORT_H
#define TAU_TRACE_EXPORT_H

#include "tool/native/trace/trace.h"

#define TAU_TRACE_CSV_HEADER "op,id,size,align,time,thread,site,flags\n"
// A site that begins with one of these is written after an apostrophe.
#define TAU_TRACE_CSV_FORMULA "=+-@\t'"

struct tau_trace_exporter;

// Writes to the descriptor FILE, which the caller keeps. NULL iff memory is short.
TAU_TRACE_EXPORT struct tau_trace_exporter *tau_trace_exporter_open(struct tau_trace_reader *reader,
                                                                    int file);
// Writes the events of block INDEX; the header line goes before the first.
TAU_TRACE_EXPORT enum tau_trace_status tau_trace_exporter_block(struct tau_trace_exporter *exporter,
                                                                uint64_t index);
// Writes the buffered text, also the header line of a trace without blocks. Frees the exporter.
TAU_TRACE_EXPORT enum tau_trace_status
tau_trace_exporter_close(struct tau_trace_exporter *exporter);

#endif

// The library's report to `tau run` at the program's end. docs/spec/runtime.md has the lines.
#ifndef TAU_LINUX_RUNTIME_REPORT_H
#define TAU_LINUX_RUNTIME_REPORT_H

#include <stdbool.h>

#include "linux/runtime/exchange.h"

struct tau_heap_site;

// Maps the report of EXCHANGE, if it has room for one. Later a program may have no right to do so.
void tau_report_open(const struct tau_exchange *exchange);
// At the end of a program; writes once. Its children write nothing.
void tau_report_end(void);
// Ends the program for a misuse: one line on stderr, the report, abort. REASON is an enum
// tau_status. Without a POINTER, a request found an overwritten free block or bucket.
__attribute__((noreturn, cold)) void tau_report_stop(const void *pointer, int reason);
// Writes the first refused request, of the call site ENTRY, at once: the program may die of it.
// Later calls do nothing. Async-signal-safe. What is free is told if the heap IS_WHOLE.
void tau_report_first_refusal(const struct tau_heap_site *entry, bool is_whole);
// The program was never run.
void tau_report_refused(const char *reason);
// In a forked child: the report is its parent's.
void tau_report_forget(void);

#endif

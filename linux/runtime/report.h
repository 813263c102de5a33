// What the library tells `tau run` at the program's end. docs/spec/runtime.md has the lines.
#ifndef TAU_LINUX_RUNTIME_REPORT_H
#define TAU_LINUX_RUNTIME_REPORT_H

#include <stddef.h>

// The length of its file: more than 65 sites with the longest paths take.
#define TAU_REPORT_BYTES ((size_t)1 << 19)

// Maps the file at PATH. Later a program may have no right to open or to write files.
void tau_report_open(const char *path);
// At the end of a program; writes once. Its children write nothing.
void tau_report_end(void);
// The program is stopped for a misuse of REASON.
void tau_report_misuse(const char *reason);
// The program was never run.
void tau_report_refused(const char *reason);
// In a forked child: the report is its parent's.
void tau_report_forget(void);

#endif

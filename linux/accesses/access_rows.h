// The file that a recorded process writes: rows of facts/accesses.h.
//
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef TAU_ACCESS_ROWS_H
#define TAU_ACCESS_ROWS_H

#include "pub_tool_basics.h"

// Counts of accesses; the clock is the sum of the first two.
struct access_counts {
    ULong heap_loads, heap_stores;
    ULong all_loads, all_stores;
    ULong stack;  // those not far above the stack pointer, and the dynamic linker's
};
extern struct access_counts access_counts;

static inline ULong access_clock(void) {
    return access_counts.heap_loads + access_counts.heap_stores;
}

// Starts a file in FOLDER. PARENT (or NULL) is the recording that this process was forked from.
// Ends the process with a message if the file cannot be made.
void rows_open(const HChar *folder, Bool is_full, ULong events_max, const HChar *parent,
               ULong parent_clock);
// The file's name, without the folder.
const HChar *rows_name(void);
// In a forked child: drops rows that the parent has not written yet, and its file.
void rows_forget(void);
// Writes the rows that wait, with the counts so far.
void rows_flush(void);
// The program ended.
void rows_end(Int status);

void rows_allocation(ThreadId tid, UInt kind, UInt slot, UInt site, SizeT size_bytes,
                     UInt align_log2);
void rows_free(ThreadId tid, UInt slot, UInt site);
void rows_misuse(ThreadId tid, UInt flag, UInt site);
// COUNT granules of the object, from number FIRST on. Neighbors of one access are joined, up to
// 255.
void rows_touch(ThreadId tid, UInt slot, UWord first, UWord count);
// Names a call site; returns its number.
UInt rows_site(const HChar *module, ULong offset);

#endif

// The raw recording of accesses: what the Valgrind tool (linux/accesses) writes and
// tool/native/record/accesses.c turns into a trace. docs/spec/accesses.md says what
// each row means.
//
// A file is the magic, the version as one byte, and rows. A row is a tag byte and varints. The tag
// has the kind of row in its low four bits and a small number in its high four.
#ifndef TAU_ACCESSES_H
#define TAU_ACCESSES_H

#define TAU_ACCESSES_MAGIC "TAUACC\r\n"
#define TAU_ACCESSES_VERSION 1
#define TAU_ACCESSES_HEADER_BYTES 9
#define TAU_ACCESSES_GRANULE_LOG2 4

enum tau_accesses_row {
    TAU_ACCESSES_FACT = 0,    // High bits: enum tau_accesses_fact. Then number of bytes, bytes.
    TAU_ACCESSES_MALLOC = 1,  // Time, slot, site, size.
    TAU_ACCESSES_CALLOC = 2,
    TAU_ACCESSES_REALLOC = 3,
    TAU_ACCESSES_ALIGNED_ALLOC = 4,  // Time, slot, site, size, log2 of the alignment.
    TAU_ACCESSES_FREE = 5,           // Time, slot, site.
    TAU_ACCESSES_TOUCH = 6,    // High bits: granules or 0. Then time, slot, first granule, and
                               // granules if 0.
    TAU_ACCESSES_MISUSE = 7,   // High bits: the trace's flag. A free of no object: time, site.
    TAU_ACCESSES_THREAD = 8,   // The thread of the rows that follow.
    TAU_ACCESSES_SITE = 9,     // Length of the module's name, name, offset. Numbered from 1.
    TAU_ACCESSES_TOTALS = 10,  // So far: heap loads, heap stores, all loads, all stores, stack's.
    TAU_ACCESSES_STOPPED = 11,  // No event follows. High bits: 1 if --max-events was reached.
    TAU_ACCESSES_END = 12,      // The program ended: its exit status, or 0.
};

enum tau_accesses_fact {
    TAU_ACCESSES_PROGRAM = 0,
    TAU_ACCESSES_DIRECTORY = 1,
    TAU_ACCESSES_ARGUMENT = 2,  // One row each, without the program's name.
    TAU_ACCESSES_NUMBERS = 3,   // Text: pid, parent's pid, start in ms since 1970, 1 if every
                                // access is written, clock of the fork or 0.
    TAU_ACCESSES_PARENT = 4,    // The recording that this process was forked from.
};

#endif

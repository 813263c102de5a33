// The raw recording of accesses: what the Valgrind tool (linux/accesses) writes and
// tool/native/record/accesses.c turns into a trace. docs/spec/accesses.md says what
// each row means.
//
// A file is the magic, the version as one byte, and rows. A row is a tag byte (row kind in its low
// four bits, a small number in its high four) and varints.
#ifndef TAU_ACCESSES_H
#define TAU_ACCESSES_H

#define TAU_ACCESSES_MAGIC "TAUACC\r\n"
#define TAU_ACCESSES_VERSION 1
#define TAU_ACCESSES_HEADER_BYTES 9
#define TAU_ACCESSES_GRANULE_LOG2 4

enum tau_accesses_row {
    TAU_ACCESSES_FACT = 0,    // high bits: enum tau_accesses_fact; bytes, then those
    TAU_ACCESSES_MALLOC = 1,  // time, slot, site, size
    TAU_ACCESSES_CALLOC = 2,
    TAU_ACCESSES_REALLOC = 3,
    TAU_ACCESSES_ALIGNED_ALLOC = 4,  // time, slot, site, size, log2 of the alignment
    TAU_ACCESSES_FREE = 5,           // time, slot, site
    TAU_ACCESSES_TOUCH = 6,    // high bits: granules, or 0: they follow; time, slot, first granule
    TAU_ACCESSES_MISUSE = 7,   // high bits: the trace's flag; a free of nobody's object: time, site
    TAU_ACCESSES_THREAD = 8,   // the thread of the rows from here on
    TAU_ACCESSES_SITE = 9,     // bytes of the module, the module, offset; numbered from 1
    TAU_ACCESSES_TOTALS = 10,  // so far: heap loads, heap stores, all loads, all stores, stack's
    TAU_ACCESSES_STOPPED = 11,  // no event from here on; high bits: 1 as many as were asked for
    TAU_ACCESSES_END = 12,      // the program came to its end: its exit status, or 0
};

enum tau_accesses_fact {
    TAU_ACCESSES_PROGRAM = 0,
    TAU_ACCESSES_DIRECTORY = 1,
    TAU_ACCESSES_ARGUMENT = 2,  // one row each, the program's name not among them
    TAU_ACCESSES_NUMBERS = 3,   // text: pid, parent's pid, start in ms since 1970, 1 if every
                                // access is written, clock of the fork or 0
    TAU_ACCESSES_PARENT = 4,    // the recording that this process was forked from
};

#endif

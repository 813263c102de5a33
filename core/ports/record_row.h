// The rows of a recording, which firmware, the recorder of Linux programs and the tool share.
//
// A row is a tag byte (bits 0-2 op, 3-4 time code, 5-7 address code) and then, little-endian:
//   time      1, 2, 3 or 8 bytes (code 0 … 3): ticks since the previous row.
//   address   Code 0 … 6: code + 1 bytes, the zigzag of the step from the last such address, in
//             units of the address shift. Code 7: 8 bytes, the address itself, if it is not a
//             multiple of the unit. Later steps do not start from it.
//   size      Not for FREE and REALLOC_BEGIN. Low bits 0, 01, 011, 111 mean 1, 2, 4, 8 bytes. The
//             bits above are the value.
//   align     ALIGNED_ALLOC only: 1 byte, its binary logarithm.
//   site      1 byte: an index of the site cache. 0 = literal: then 1 byte, the index to be set,
//             and, as a size, the zigzag of the step from the last literal.
// A control row has its code in bits 3-7 and no fields but its own. A tag of 0 ends the chunk.
#ifndef TAU_CORE_PORTS_RECORD_ROW_H
#define TAU_CORE_PORTS_RECORD_ROW_H

enum tau_record_op {
    TAU_RECORD_END = 0,
    TAU_RECORD_MALLOC = 1,
    TAU_RECORD_CALLOC = 2,
    TAU_RECORD_REALLOC_BEGIN = 3,  // the object leaves this address and stays alive
    TAU_RECORD_REALLOC_END = 4,    // the object is at this address, with a new size
    TAU_RECORD_ALIGNED_ALLOC = 5,
    TAU_RECORD_FREE = 6,
    TAU_RECORD_CONTROL = 7,
};

enum tau_record_control {
    TAU_RECORD_REALLOC_FAILED = 1,  // the thread's latest REALLOC_BEGIN changed nothing
    TAU_RECORD_REALLOC_FREED = 2,   // … freed the object: realloc(p, 0)
    TAU_RECORD_THREAD = 3,          // 4 bytes: the thread of the rows that follow
    TAU_RECORD_FLUSHED = 4,         // every row so far is in the stream; more may follow
    TAU_RECORD_PROGRAM_END = 5,     // the program has ended; later rows are its C library's
    TAU_RECORD_IMAGE = 6,           // 4 bytes: a hash of addresses in the firmware's image
    TAU_RECORD_REFUSED = 7,         // a size and a site: the heap refused a request
};

#define TAU_RECORD_SITES 256u
#define TAU_RECORD_SITE_LITERAL 0u
#define TAU_RECORD_ADDRESS_WHOLE 7u
#define TAU_RECORD_ROW_BYTES_MAX 36u

#endif

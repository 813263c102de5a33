// Pages are virtual, frames are physical. Both are numbers. They have different types, so that
// mixing them does not compile.
#ifndef TAU_PAGE_H
#define TAU_PAGE_H

#include <stdint.h>

// Bytes of a page and of a frame.
#ifndef TAU_PAGE_LOG2
#define TAU_PAGE_LOG2 12u
#endif
#define TAU_PAGE_BYTES (1u << TAU_PAGE_LOG2)

// Address of page 0 of every address space on a 32-bit machine. Non-zero if the MMU translates only
// a window.
#ifndef TAU_SPACE_ORIGIN
#define TAU_SPACE_ORIGIN 0u
#endif

struct tau_page {
    uint32_t number;
};

struct tau_frame {
    uint32_t number;
};

// The rights of a region, as bits of the words that hold them (docs/spec/vspace.md, "The pages
// validity array").
#define TAU_READ (UINT32_C(1) << 27)
#define TAU_WRITE (UINT32_C(1) << 28)
#define TAU_EXECUTE (UINT32_C(1) << 29)
#define TAU_RIGHTS (TAU_READ | TAU_WRITE | TAU_EXECUTE)

// The bits of those words that hold the number of a page or frame.
#define TAU_NUMBER_MASK (TAU_READ - 1)

#endif

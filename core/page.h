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

// Pages of an address space: at least 2^MIN, at most 2^MAX. A build may set any MAX up to 26. The
// region tree has one level for every five bits of a page number.
#define TAU_SPACE_PAGES_LOG2_MIN 1u
#ifndef TAU_SPACE_PAGES_LOG2_MAX
#define TAU_SPACE_PAGES_LOG2_MAX 20u
#endif
#if TAU_SPACE_PAGES_LOG2_MAX > 26
#error "five bits of a word are left for the state of a region"
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

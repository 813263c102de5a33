// Pages are virtual, frames are physical. Both are numbers, of different types, so that mixing them
// does not compile.
#ifndef TAU_PAGE_H
#define TAU_PAGE_H

#include <stdint.h>

#include "core/config.h"

struct tau_page {
    uint32_t number;
};

struct tau_frame {
    uint32_t number;
};

// What a region allows, as bits of the words that hold it (docs/spec/vspace.md, "The pages validity
// array").
#define TAU_READ (UINT32_C(1) << 27)
#define TAU_WRITE (UINT32_C(1) << 28)
#define TAU_EXECUTE (UINT32_C(1) << 29)
#define TAU_RIGHTS (TAU_READ | TAU_WRITE | TAU_EXECUTE)

// The part of those words that is a page's or a frame's number.
#define TAU_NUMBER_MASK (TAU_READ - 1)

#endif

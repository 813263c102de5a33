// Full walk over a heap on pages: its blocks, its regions, its space.
#ifndef TAU_CHECK_PAGE_HEAP_H
#define TAU_CHECK_PAGE_HEAP_H

#include "core/page_heap.h"

// What check_page_heap adds to the number of a broken [TLSF-n], and to what check_vspace answers.
#define CHECK_PAGE_HEAP_TLSF 200u
#define CHECK_PAGE_HEAP_SPACE 300u

// The number of the first broken invariant of docs/spec/page_heap.md ("[PGH-n]"; [TLSF-n] plus 200;
// what check_vspace answers plus 300), 0 if all hold. Touches blocks' headers and footers only.
// Cost: a few steps a block and a page.
unsigned check_page_heap(const struct tau_page_heap *heap);

#endif

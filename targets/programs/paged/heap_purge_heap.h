// The purging heap in an image: it starts as the conventional heap does.
#ifndef TAU_PAGED_HEAP_PURGE_HEAP_H
#define TAU_PAGED_HEAP_PURGE_HEAP_H

#include "targets/programs/paged/heap_break_heap.h"

#endif

// The purging heap on the tile: all but its free is the conventional heap's.
#ifndef TAU_REPLAY_SYSTEM_PURGE_HEAP_H
#define TAU_REPLAY_SYSTEM_PURGE_HEAP_H

#define SYSTEM_FREE tau_break_heap_free_purging
#include "targets/programs/replay/system_break_heap.h"

#endif

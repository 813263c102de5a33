// The pages of a system: mapped and filled before any task runs, and never changed later.
#ifndef TAU_TASKS_MEMORY_H
#define TAU_TASKS_MEMORY_H

// Maps the system's pages and fills them, and makes the heaps. Stops the tile if a heap is refused.
// Pages beside these stay unmapped, so nothing that runs ahead or is prefetched loads them.
void tau_tasks_memory_begin(void);

#endif

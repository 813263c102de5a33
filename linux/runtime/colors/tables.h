// Memory for tables that live as long as the process: bits of sets and of pages.
#ifndef TAU_LINUX_RUNTIME_COLORS_TABLES_H
#define TAU_LINUX_RUNTIME_COLORS_TABLES_H

#include <stddef.h>
#include <stdint.h>

// COUNT zeroed words; NULL if the system gives no memory.
uint32_t *tau_colors_table(size_t count);

#endif

// What `tau run` decided, in the file that it shares with the program. docs/spec/runtime.md has its
// lines.
#ifndef TAU_LINUX_RUNTIME_SETTINGS_H
#define TAU_LINUX_RUNTIME_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/runtime/heap.h"

struct tau_settings {
    struct tau_heap_plan plan;  // this process's plan; without one heap_bytes is 0
    size_t spill_bytes;
    const char *colors;  // this process's, until its start ends; NULL without
    bool is_locked;
    const char *failure;  // why they cannot be used, or NULL
};

extern struct tau_settings tau_settings;

// ENVIRONMENT is the start's. Opens the report of the planned process. Copies all that later calls
// need: a program may overwrite it.
const struct tau_settings *tau_settings_read(char *const environment[]);
// The decimal number at *TEXT, at most MAX. *TEXT moves after it. False if there is none.
bool tau_settings_number(const char **text, uint64_t max, uint64_t *found);
// Unmaps the settings. Only `colors` pointed into it.
void tau_settings_close(void);

#endif

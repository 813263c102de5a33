// Call sites as (module, offset): the copies of /proc/self/maps that a recording holds.
#ifndef TAU_MERGE_MODULES_H
#define TAU_MERGE_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tau_merge_module {
    uint64_t start, end;
    uint64_t base;     // where the file's first byte is mapped
    const char *path;  // "" = no file
};

struct tau_merge_snapshot {
    uint64_t ticks;
    char *text;  // the paths are parts of it
    struct tau_merge_module *modules;
    size_t modules_count;
};

struct tau_merge_modules {
    struct tau_merge_snapshot *snapshots;  // by time
    size_t snapshots_count;
};

// Adds a snapshot of TEXT, which is copied. Snapshots come by time. Lines that make no sense are
// left out. False if memory is short.
bool tau_merge_modules_add(struct tau_merge_modules *modules, uint64_t ticks, const char *text,
                           size_t text_bytes);
// The module that SITE was in at TICKS; sets *offset to its distance from the module's base. "" and
// SITE itself if unknown.
const char *tau_merge_modules_find(const struct tau_merge_modules *modules, uint64_t ticks,
                                   uint64_t site, uint64_t *offset);
void tau_merge_modules_close(struct tau_merge_modules *modules);

#endif

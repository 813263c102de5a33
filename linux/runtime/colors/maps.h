// The mappings of this process, from /proc/self/maps, without an allocation.
#ifndef TAU_LINUX_RUNTIME_COLORS_MAPS_H
#define TAU_LINUX_RUNTIME_COLORS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tau_mapping {
    uintptr_t start;
    uintptr_t end;
    bool can_read;
    bool can_write;
    bool can_execute;
    bool is_private;
};

struct tau_maps {
    int file;
    size_t at;
    size_t filled;
    char text[4096];
};

bool tau_maps_open(struct tau_maps *maps);
// The next mapping, in ascending order; false at the end.
bool tau_maps_next(struct tau_maps *maps, struct tau_mapping *mapping);
void tau_maps_close(struct tau_maps *maps);

#endif

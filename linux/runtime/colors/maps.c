#include "linux/runtime/colors/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define END (-1)

// The next character; END after the last one.
static int character(struct tau_maps *maps) {
    if (maps->at == maps->filled) {
        ssize_t bytes;
        do {
            bytes = read(maps->file, maps->text, sizeof maps->text);
        } while (bytes < 0 && errno == EINTR);
        maps->at = 0;
        maps->filled = bytes > 0 ? (size_t)bytes : 0;
        if (maps->filled == 0) {
            return END;
        }
    }
    return (unsigned char)maps->text[maps->at++];
}

// A hexadecimal number and the character after it, which is not returned.
static uintptr_t address(struct tau_maps *maps) {
    uintptr_t found = 0;
    for (;;) {
        const int digit = character(maps);
        if (digit >= '0' && digit <= '9') {
            found = found << 4 | (uintptr_t)(digit - '0');
        } else if (digit >= 'a' && digit <= 'f') {
            found = found << 4 | (uintptr_t)(digit - 'a' + 10);
        } else {
            return found;
        }
    }
}

bool tau_maps_open(struct tau_maps *maps) {
    maps->file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    maps->at = 0;
    maps->filled = 0;
    return maps->file >= 0;
}

bool tau_maps_next(struct tau_maps *maps, struct tau_mapping *mapping) {
    mapping->start = address(maps);
    mapping->end = address(maps);
    mapping->can_read = character(maps) == 'r';
    mapping->can_write = character(maps) == 'w';
    mapping->can_execute = character(maps) == 'x';
    mapping->is_private = character(maps) == 'p';
    int last;
    do {
        last = character(maps);
    } while (last != '\n' && last != END);
    return mapping->end != 0;
}

void tau_maps_close(struct tau_maps *maps) {
    close(maps->file);
}

// What the programs share. Each is the same source for the host, for 32-bit Arm Linux and for a
// Cortex-M4, takes a seed as its argument, and prints one line:
//   checksum 0123abcd failed 0
// - Random numbers are our own: equal seeds give equal calls everywhere.
// - Output goes through write, because a stdio allocates buffers of its own.
// - No enum, time_t, wchar_t or FILE is in a structure: their sizes differ between systems. `long`
//   and pointers have 4 bytes on one side and 8 on the other, as in any program.
// - A failed allocation is counted, and served from a store of its own. So the program goes on, and
//   its checksum says whether the heap kept the data.
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STORE_BYTES (1u << 20)

static _Alignas(16) unsigned char store[STORE_BYTES];
static size_t store_used_bytes;
static unsigned int failed_count;
static uint32_t random_state;
static uint32_t checksum = 2166136261u;

static inline void start(int count, char **arguments) {
    const unsigned long seed = count > 1 ? strtoul(arguments[1], NULL, 10) : 1;
    random_state = (uint32_t)seed * 2654435761u | 1u;
}

static inline uint32_t random_below(uint32_t bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return (uint32_t)((uint64_t)random_state * bound >> 32);
}

static inline void add(uint32_t value) {
    for (unsigned int byte = 0; byte < 4; byte++) {
        checksum = (checksum ^ (value >> 8 * byte & 0xffu)) * 16777619u;
    }
}

static inline void add_text(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        checksum = (checksum ^ (unsigned char)text[i]) * 16777619u;
    }
}

static inline void *stored(size_t size) {
    failed_count++;
    if (size > STORE_BYTES - store_used_bytes) {
        _exit(4);
    }
    void *object = store + store_used_bytes;
    store_used_bytes += (size + 15) / 16 * 16;
    return object;
}

static inline int is_stored(const void *object) {
    return (uintptr_t)object - (uintptr_t)store < STORE_BYTES;
}

static inline void *grab(size_t size) {
    void *object = malloc(size);
    return object != NULL ? object : stored(size);
}

static inline void *grab_zeros(size_t count, size_t size) {
    void *object = calloc(count, size);
    return object != NULL ? object : memset(stored(count * size), 0, count * size);
}

static inline void drop(void *object) {
    if (!is_stored(object)) {
        free(object);
    }
}

static inline void *regrab(void *old, size_t old_size, size_t size) {
    void *object = is_stored(old) ? NULL : realloc(old, size);
    if (object == NULL && size != 0) {
        object = stored(size);
        if (old != NULL) {
            memcpy(object, old, old_size < size ? old_size : size);
            drop(old);
        }
    }
    return object;
}

static inline int finish(void) {
    char line[64] = "checksum 00000000 failed ";
    for (unsigned int i = 0; i < 8; i++) {
        line[9 + i] = "0123456789abcdef"[checksum >> (28 - 4 * i) & 15];
    }
    char digits[12];
    size_t used = 0, length = strlen(line);
    unsigned int rest = failed_count;
    do {
        digits[used++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    while (used > 0) {
        line[length++] = digits[--used];
    }
    line[length++] = '\n';
    return write(1, line, length) == (ssize_t)length ? 0 : 1;
}

#endif

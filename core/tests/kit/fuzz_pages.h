// Shared by the fuzzing programs of pages: a log of calls for the golden models, and an image of
// memory that a refused call must not change.
#ifndef TAU_FUZZ_PAGES_H
#define TAU_FUZZ_PAGES_H

#include "core/tests/kit/fuzz.h"

enum { IMAGE_BYTES_MAX = 1 << 17 };

// A log of every call, for the tests in Python. NULL: no log.
static FILE *log_file;

#define LOG(...)                                                                                   \
    do {                                                                                           \
        if (log_file != NULL) {                                                                    \
            fprintf(log_file, __VA_ARGS__);                                                        \
        }                                                                                          \
    } while (0)

// Opens the log that the environment names, once.
static inline void log_open(void) {
    const char *const name = getenv("TAU_FUZZ_LOG");
    if (log_file == NULL && name != NULL) {
        log_file = fopen(name, "w");
        REQUIRE(log_file != NULL);
    }
}

static struct {
    unsigned char bytes[IMAGE_BYTES_MAX];
    size_t used_bytes;  // set to 0 before a walk
} image;

// Appends COUNT bytes to the copy, or compares them with the copy.
static inline void image_part(const void *bytes, size_t count, bool compare) {
    REQUIRE(image.used_bytes + count <= sizeof image.bytes);
    if (compare) {
        EXPECT(memcmp(image.bytes + image.used_bytes, bytes, count) == 0);
    } else {
        memcpy(image.bytes + image.used_bytes, bytes, count);
    }
    image.used_bytes += count;
}

#endif

// Decodes damaged images under sanitizers: nothing outside of the data is read, nothing outside of
// the pixels written, and each decoding ends.
//
//   fuzz_jpeg truncations FILE…         every shorter image
//   fuzz_jpeg mutations SEED N FILE…    N random changes
//
// With TAU_FUZZER it is a libFuzzer target instead.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/systems/jpeg/color.h"
#include "kernel/systems/jpeg/decode.h"

enum { BYTES_MAX = 1 << 16, CHANGES_MAX = 8, PIXELS_MAX = 96 * 96 };

static struct tau_jpeg_decoder decoder;
static unsigned counts[TAU_JPEG_STATUS_COUNT];

// The sanitizer guards both ends of what malloc returns, so each block has exactly its size.
static void *copied(const uint8_t *data, size_t bytes) {
    void *block = malloc(bytes > 0 ? bytes : 1);
    if (block == NULL) {
        abort();
    }
    memcpy(block, data, bytes);
    return block;
}

static void decode(const uint8_t *data, size_t bytes) {
    uint8_t *image = copied(data, bytes);
    uint8_t *pixels = calloc(PIXELS_MAX, TAU_JPEG_PIXEL_BYTES);
    const enum tau_jpeg_status status =
        tau_jpeg_decode(&decoder, image, (uint32_t)bytes, pixels, PIXELS_MAX);
    if ((unsigned)status >= TAU_JPEG_STATUS_COUNT) {
        abort();
    }
    counts[status]++;
    free(pixels);
    free(image);
}

#ifdef TAU_FUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    decode(data, size);
    return 0;
}

#else

static uint64_t random_state;

// The next number of the sequence splitmix64 (S. Vigna).
static uint64_t random_number(void) {
    random_state += 0x9e3779b97f4a7c15u;
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t random_below(size_t limit) {
    return (size_t)(random_number() % limit);
}

static size_t read_file(const char *name, uint8_t data[BYTES_MAX]) {
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        perror(name);
        exit(2);
    }
    const size_t bytes = fread(data, 1, BYTES_MAX, file);
    fclose(file);
    return bytes;
}

// Changes DATA at a random place; the new number of bytes. Markers and lengths are found often
// enough by half of the changes staying in the first kilobyte.
static size_t change(uint8_t *data, size_t bytes) {
    const size_t near = bytes < 1024 || random_below(2) == 0 ? bytes : 1024;
    const size_t at = random_below(near);
    switch (random_below(5)) {
    case 0:
        data[at] = (uint8_t)random_number();
        return bytes;
    case 1:
        data[at] ^= (uint8_t)(1u << random_below(8));
        return bytes;
    case 2:
        data[at] = random_below(2) == 0 ? 0xff : 0x00;
        return bytes;
    case 3:
        memmove(data + at, data + at + 1, bytes - at - 1);
        return bytes - 1;
    default:
        if (bytes == BYTES_MAX) {
            return bytes;
        }
        memmove(data + at + 1, data + at, bytes - at);
        return bytes + 1;
    }
}

static void truncate_all(const uint8_t *data, size_t bytes) {
    for (size_t kept = 0; kept <= bytes; kept++) {
        decode(data, kept);
    }
}

static void mutate(const uint8_t *data, size_t bytes) {
    static uint8_t changed[BYTES_MAX];
    memcpy(changed, data, bytes);
    for (size_t left = 1 + random_below(CHANGES_MAX); left > 0 && bytes > 1; left--) {
        bytes = change(changed, bytes);
    }
    decode(changed, bytes);
}

int main(int argc, char **argv) {
    static uint8_t data[BYTES_MAX];
    const int is_truncation = argc > 2 && strcmp(argv[1], "truncations") == 0;
    const int first = is_truncation ? 2 : 4;
    if (argc <= first) {
        return 2;
    }
    const unsigned long count = is_truncation ? 1 : strtoul(argv[3], NULL, 0);
    random_state = is_truncation ? 0 : strtoull(argv[2], NULL, 0);
    for (unsigned long i = 0; i < count; i++) {
        for (int file = first; file < argc; file++) {
            const size_t bytes = read_file(argv[file], data);
            if (is_truncation) {
                truncate_all(data, bytes);
            } else {
                mutate(data, bytes);
            }
        }
    }
    for (int status = 0; status < TAU_JPEG_STATUS_COUNT; status++) {
        printf("%u %s\n", counts[status], tau_jpeg_reason((enum tau_jpeg_status)status));
    }
    return 0;
}

#endif

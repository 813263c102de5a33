// Random calls, all of them recorded: no stream, no library that allocates. Prints the number of
// calls up to the first that got no memory, and a hash of where each object lay, counted from the
// last multiple of 2 MiB below the first. It is tau_content_hash of tool/native/replay/content.h.
// Arguments: seed, calls.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SLOTS 500

static uint64_t state, hash, call;
static uintptr_t base;
static void *slots[SLOTS];

static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static size_t size(void) {
    const uint64_t kind = next() % 100;
    return 1 + (kind < 60 ? next() % 8 * 24 : kind < 95 ? next() % 700 : next() % 9000);
}

static int noted(void **slot, void *pointer) {
    if (pointer == NULL) {
        return 0;
    }
    if (base == 0) {
        base = (uintptr_t)pointer & ~(((uintptr_t)1 << 21) - 1);
    }
    *slot = pointer;
    hash = (hash ^ call) * UINT64_C(0x9e3779b97f4a7c15) + ((uintptr_t)pointer - base);
    return 1;
}

static int one(void **slot) {
    const uint64_t kind = next() % 16;
    if (*slot == NULL) {
        return kind < 12   ? noted(slot, malloc(size()))
               : kind < 14 ? noted(slot, calloc(1, size()))
                           : noted(slot, aligned_alloc((size_t)64 << next() % 7, size()));
    }
    if (kind < 3) {
        return noted(slot, realloc(*slot, size()));
    }
    free(*slot);
    *slot = NULL;
    return 1;
}

int main(int count, char **words) {
    char text[64];
    state = strtoul(words[1], NULL, 10) * 2 + 1;
    const uint64_t calls = strtoul(words[2], NULL, 10);
    while (call < calls && one(&slots[next() % SLOTS])) {
        call++;
    }
    const int bytes = snprintf(text, sizeof text, "%lu %lu\n", call, hash);
    return write(1, text, (size_t)bytes) == bytes ? 0 : 1;
}

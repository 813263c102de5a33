// Uses the whole of newlib's heap interface, directly and through the library. Exit status 1 and
// the line say what does not hold.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap_plan.h"

#define CHECK(holds)                                                                               \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            printf("line %d: %s\n", __LINE__, #holds);                                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

// Not constants to the compiler, which would warn, or leave the call out.
static volatile size_t huge = (size_t)1 << 30;
static volatile size_t nothing = 0;

static uintptr_t lowest = UINTPTR_MAX, highest;

// Every object lies in the one heap, so all lie within its size.
static void *ours(void *pointer) {
    const uintptr_t address = (uintptr_t)pointer;
    lowest = address < lowest ? address : lowest;
    highest = address > highest ? address : highest;
    CHECK(pointer != NULL);
    CHECK(highest - lowest < TAU_PLAN_HEAP_BYTES);
    return pointer;
}

// The first calls of all: what is not an object is refused, though no heap is there yet.
__attribute__((constructor(101))) static void check_foreign(void) {
    static uint64_t words[16];
    uint64_t *volatile foreign = &words[8];  // not known to the compiler, which would warn
    free(foreign);
    errno = 0;
    CHECK(realloc(foreign, 8) == NULL && errno == ENOMEM);
    CHECK(malloc_usable_size(foreign) == 0);
    for (size_t i = 0; i < 16; i++) {
        CHECK(words[i] == 0);
    }
}

static void check_growth(void) {
    unsigned char *bytes = NULL;
    char *between[64];
    for (size_t size = 1; size <= 64; size++) {
        bytes = ours(realloc(bytes, size * 40));
        bytes[size * 40 - 1] = (unsigned char)size;
        between[size - 1] = ours(strdup("an object in the way"));
        for (size_t i = 1; i <= size; i++) {
            CHECK(bytes[i * 40 - 1] == (unsigned char)i);
        }
    }
    for (size_t i = 0; i < 64; i++) {
        CHECK(strcmp(between[i], "an object in the way") == 0);
        free(between[i]);
    }
    bytes = ours(reallocarray(bytes, 10, 4));
    CHECK(bytes[39] == 1);
    errno = 0;
    CHECK(reallocarray(bytes, huge, 4) == NULL && errno == ENOMEM);
    cfree(bytes);
}

static void check_library(void) {
    char *text = NULL;
    CHECK(asprintf(&text, "%.3f %.6e %s", 3.14159, 1e-7, "text") == 23);
    CHECK(strcmp(ours(text), "3.142 1.000000e-07 text") == 0);
    CHECK(malloc_usable_size(text) >= 24);
    text = ours(realloc(text, 2000));
    CHECK(strcmp(text, "3.142 1.000000e-07 text") == 0);
    free(text);
    printf("printed %.2f\n", 2.5);
}

static void check_edges(void) {
    void *object = ours(malloc(nothing));
    free(object);
    CHECK(realloc(ours(malloc(8)), nothing) == NULL);
    free(NULL);
    unsigned char *zeros = ours(malloc(300));
    memset(zeros, 0xff, 300);
    free(zeros);
    zeros = ours(calloc(30, 10));
    for (size_t i = 0; i < 300; i++) {
        CHECK(zeros[i] == 0);
    }
    errno = 0;
    CHECK(realloc(zeros, huge) == NULL && errno == ENOMEM);
    CHECK(malloc_usable_size(zeros) >= 300);
    free(zeros);
    errno = 0;
    CHECK(malloc(huge) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(calloc(huge, huge) == NULL && errno == ENOMEM);
    free(ours(calloc(nothing, 8)));
    free(ours(calloc(8, nothing)));
    CHECK(malloc_usable_size(NULL) == 0);
}

static void check_alignment(void) {
    void *object = ours(memalign(64, 100));
    CHECK((uintptr_t)object % 64 == 0);
    free(object);
    object = ours(aligned_alloc(256, 512));
    CHECK((uintptr_t)object % 256 == 0);
    free(object);
    object = ours(valloc(100));
    CHECK((uintptr_t)object % 4096 == 0);
    free(object);
    errno = 0;
    CHECK(posix_memalign(&object, 128, 40) == 0 && (uintptr_t)ours(object) % 128 == 0);
    free(object);
    CHECK(posix_memalign(&object, 24, 40) == EINVAL && posix_memalign(&object, 2, 40) == EINVAL);
    CHECK(posix_memalign(&object, 64, huge) == ENOMEM && errno == 0);
    CHECK(posix_memalign(&object, nothing, 40) == EINVAL);
    CHECK(memalign(24, 40) == NULL && errno == EINVAL);
    errno = 0;
    CHECK(memalign(nothing, 40) == NULL && errno == EINVAL);
    errno = 0;
    CHECK(memalign(64, huge) == NULL && errno == ENOMEM);
    free(ours(memalign(64, nothing)));
}

static void check_statistics(void) {
    const struct mallinfo before = mallinfo();
    void *const objects[] = {ours(malloc(24)), ours(malloc(700))};
    const struct mallinfo during = mallinfo();
    CHECK(during.uordblks - before.uordblks >= 24 + 704 &&
          during.uordblks - before.uordblks <= 32 + 720);
    CHECK(during.uordblks + during.fordblks == before.uordblks + before.fordblks);
    CHECK(during.arena == TAU_PLAN_HEAP_BYTES && during.fordblks < during.arena);
    free(objects[0]);
    free(objects[1]);
    CHECK(mallinfo().uordblks == before.uordblks && mallinfo().fordblks == before.fordblks);
}

#if defined(__NEWLIB__) && !defined(__PICOLIBC__)
static void check_reentrant(void) {
    CHECK(_mallinfo_r(_REENT).uordblks == mallinfo().uordblks);
    char *object = ours(_malloc_r(_REENT, 20));
    strcpy(object, "reentrant");
    object = ours(_realloc_r(_REENT, object, 600));
    CHECK(strcmp(object, "reentrant") == 0);
    CHECK(_malloc_usable_size_r(_REENT, object) >= 600);
    _free_r(_REENT, object);
    object = ours(_calloc_r(_REENT, 3, 7));
    CHECK(object[20] == 0);
    free(object);
    object = ours(_memalign_r(_REENT, 32, 7));
    CHECK((uintptr_t)object % 32 == 0);
    free(object);
}
#else
static void check_reentrant(void) {}
#endif

// Random objects, each filled with its number, through malloc, realloc and free.
static void check_churn(unsigned int seed) {
    enum { OBJECTS = 40 };
    static unsigned char *objects[OBJECTS];
    static size_t sizes[OBJECTS];
    srand(seed);
    for (unsigned int step = 0; step < 5000; step++) {
        const unsigned int i = (unsigned int)rand() % OBJECTS;
        const size_t size = 1 + (unsigned int)rand() % 700;
        for (size_t at = 0; at < sizes[i]; at++) {
            CHECK(objects[i][at] == (unsigned char)i);
        }
        if (rand() % 3 == 0) {
            free(objects[i]);
            objects[i] = NULL;
            sizes[i] = 0;
        } else {
            objects[i] = ours(realloc(objects[i], size));
            memset(objects[i], (int)i, size);
            sizes[i] = size;
        }
    }
    for (unsigned int i = 0; i < OBJECTS; i++) {
        free(objects[i]);
    }
}

// Each frees what it allocates.
static void check_parts(void) {
    static void (*const parts[])(void) = {check_growth, check_edges, check_alignment,
                                          check_statistics, check_reentrant};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const size_t before = mallinfo().uordblks;
        parts[i]();
        CHECK(mallinfo().uordblks == before);
    }
}

int main(void) {
    CHECK(mallinfo().fordblks > TAU_PLAN_HEAP_BYTES / 2);
    check_library();
    check_parts();
    check_churn(SEED);
    // All is free again but what the library keeps.
    const size_t untouched = mallinfo().keepcost;
    free(ours(malloc(TAU_PLAN_SHARED_BYTES / 2)));
    CHECK(mallinfo().keepcost < untouched && mallinfo().keepcost > 0);
    puts("all holds");
    return 0;
}

// Random calls of the whole family against a model: every object keeps its pattern, its alignment
// and its size; calloc's memory is zero. Arguments: seed, steps. With several threads (third
// argument) they hand objects to each other.
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 400
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "seed %lu line %d: %s\n", seed_given, __LINE__, #condition);           \
            _Exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static unsigned long seed_given, steps;

struct object {
    unsigned char *bytes;
    size_t size;
    size_t alignment;
    unsigned char pattern;
};

// Shared: a thread swaps its own object with one of these.
static struct object exchange[16];
static pthread_mutex_t exchange_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t size_of(uint64_t *state) {
    const uint64_t kind = next(state) % 100;
    return kind < 3    ? 0
           : kind < 80 ? next(state) % 300
           : kind < 97 ? next(state) % 9000
                       : next(state) % 300000;
}

// All usable bytes, not only the requested ones.
static void fill(struct object *object, uint64_t *state) {
    object->pattern = (unsigned char)next(state);
    memset(object->bytes, object->pattern, malloc_usable_size(object->bytes));
}

static void check(const struct object *object, size_t bytes) {
    for (size_t index = 0; index < bytes; index++) {
        EXPECT(object->bytes[index] == object->pattern);
    }
}

static void drop(struct object *object) {
    if (object->bytes != NULL) {
        EXPECT(malloc_usable_size(object->bytes) >= object->size);
        EXPECT((uintptr_t)object->bytes % object->alignment == 0);
        check(object, object->size);
        errno = 77;
        free(object->bytes);
        EXPECT(errno == 77);
    }
    *object = (struct object){0};
}

static void make(struct object *object, uint64_t *state) {
    void *pointer = NULL;
    object->size = size_of(state);
    object->alignment = 16;
    switch (next(state) % 12) {
    case 0: {
        const size_t count = next(state) % 7 + 1;
        object->size = object->size / count * count;
        object->bytes = calloc(count, object->size / count);
        for (size_t index = 0; index < object->size; index++) {
            EXPECT(object->bytes[index] == 0);
        }
        break;
    }
    case 1:
        object->alignment = (size_t)8 << next(state) % 10;
        EXPECT(posix_memalign(&pointer, object->alignment, object->size) == 0);
        object->bytes = pointer;
        break;
    case 2:
        object->alignment = (size_t)16 << next(state) % 9;
        object->bytes = aligned_alloc(object->alignment, object->size);
        break;
    case 3:
        object->alignment = (size_t)1 << next(state) % 13;
        object->bytes = memalign(object->alignment, object->size);
        break;
    case 4:
        object->alignment = 4096;
        object->bytes = next(state) % 2 != 0 ? valloc(object->size) : pvalloc(object->size);
        break;
    case 5:
        object->bytes = reallocarray(NULL, 3, object->size / 3);
        object->size = object->size / 3 * 3;
        break;
    default:
        object->bytes = malloc(object->size);
    }
    EXPECT(object->bytes != NULL);
    fill(object, state);
}

static void resize(struct object *object, uint64_t *state) {
    const size_t old = object->size;
    const size_t size = size_of(state) + 1;
    unsigned char *const moved = realloc(object->bytes, size);
    EXPECT(moved != NULL);
    object->bytes = moved;
    object->alignment = 16;
    object->size = size;
    check(object, old < size ? old : size);
    fill(object, state);
}

static void *work(void *argument) {
    uint64_t state = seed_given * 0x9e3779b97f4a7c15u + (uintptr_t)argument * 77 + 1;
    static __thread struct object objects[SLOTS];
    for (unsigned long step = 0; step < steps; step++) {
        struct object *const object = &objects[next(&state) % SLOTS];
        if (object->bytes == NULL) {
            make(object, &state);
        } else if (next(&state) % 4 == 0) {
            resize(object, &state);
        } else if (next(&state) % 8 == 0) {
            pthread_mutex_lock(&exchange_lock);
            struct object *const other = &exchange[next(&state) % 16];
            const struct object kept = *other;
            *other = *object;
            *object = kept;
            pthread_mutex_unlock(&exchange_lock);
        } else {
            drop(object);
        }
    }
    for (unsigned index = 0; index < SLOTS; index++) {
        drop(&objects[index]);
    }
    return NULL;
}

int main(int count, char **words) {
    seed_given = strtoul(words[1], NULL, 0);
    steps = strtoul(words[2], NULL, 0);
    const unsigned threads = count > 3 ? (unsigned)atoi(words[3]) : 1;
    pthread_t thread[16];
    for (unsigned index = 1; index < threads; index++) {
        EXPECT(pthread_create(&thread[index], NULL, work, (void *)(uintptr_t)index) == 0);
    }
    work(NULL);
    for (unsigned index = 1; index < threads; index++) {
        pthread_join(thread[index], NULL);
    }
    for (unsigned index = 0; index < 16; index++) {
        drop(&exchange[index]);
    }
    puts("done");
    return 0;
}

// Each function of the family: results and errno for good and bad arguments, as the C library's own
// give them. Prints nothing unless one differs. With an argument it runs on ours.
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s, errno %d\n", __LINE__, #condition, errno);                        \
            failures++;                                                                            \
        }                                                                                          \
        errno = 0;                                                                                 \
    } while (0)
// Volatile, so that the compiler knows nothing about sizes.
static volatile size_t huge = (size_t)1 << 63;
static volatile size_t nearly = PTRDIFF_MAX;
static volatile size_t everything = SIZE_MAX;

static void refuses(void) {
    void *pointer = &pointer;
    void *const kept = malloc(10);
    strcpy(kept, "kept");
    EXPECT(malloc(huge) == NULL && errno == ENOMEM);
    EXPECT(malloc(nearly) == NULL && errno == ENOMEM);
    EXPECT(malloc(everything) == NULL && errno == ENOMEM);
    EXPECT(calloc(huge, 2) == NULL && errno == ENOMEM);
    EXPECT(calloc(nearly, 1) == NULL && errno == ENOMEM);
    EXPECT(realloc(kept, nearly) == NULL && errno == ENOMEM);
    EXPECT(realloc(kept, everything) == NULL && errno == ENOMEM);
    EXPECT(reallocarray(kept, huge, 4) == NULL && errno == ENOMEM);
    EXPECT(strcmp(kept, "kept") == 0);
    EXPECT(memalign(64, nearly) == NULL && errno == ENOMEM);
    EXPECT(memalign(huge, 8) == NULL && errno == ENOMEM);
    EXPECT(memalign(huge + 1, 8) == NULL && errno == EINVAL);
    EXPECT(aligned_alloc(64, everything) == NULL && errno == ENOMEM);
    EXPECT(valloc(everything) == NULL && errno == ENOMEM);
    EXPECT(pvalloc(everything) == NULL && errno == ENOMEM);
    // The manual says that it leaves errno alone; the C library does not.
    EXPECT(posix_memalign(&pointer, 64, nearly) == ENOMEM && errno == ENOMEM);
    EXPECT(posix_memalign(&pointer, 0, 8) == EINVAL);
    EXPECT(posix_memalign(&pointer, 4, 8) == EINVAL);
    EXPECT(posix_memalign(&pointer, 24, 8) == EINVAL && pointer == &pointer);
    free(kept);
}

static void allocates(void) {
    void *pointer;
    void *const one = malloc(0);
    void *const other = malloc(0);
    EXPECT(one != NULL && other != NULL && one != other);
    EXPECT((uintptr_t)one % 16 == 0);
    free(one);
    free(other);
    pointer = calloc(0, 5);
    EXPECT(pointer != NULL);
    free(pointer);
    pointer = memalign(48, 100);  // the next power of two
    EXPECT(pointer != NULL && (uintptr_t)pointer % 64 == 0);
    free(pointer);
    pointer = aligned_alloc(1 << 20, 3);
    EXPECT((uintptr_t)pointer % (1 << 20) == 0);
    free(pointer);
    pointer = pvalloc(1);
    EXPECT((uintptr_t)pointer % 4096 == 0 && malloc_usable_size(pointer) >= 4096);
    free(pointer);
    pointer = realloc(NULL, 20);
    EXPECT(pointer != NULL && malloc_usable_size(pointer) >= 20);
    memset(pointer, 7, malloc_usable_size(pointer));
    EXPECT(realloc(pointer, 0) == NULL && errno == 0);
    EXPECT(malloc_usable_size(NULL) == 0);
    free(NULL);
}

static void looks(void) {
    const struct mallinfo2 before = mallinfo2();
    void *const pointer = malloc(100000);
    EXPECT(mallinfo2().uordblks >= before.uordblks + 100000);
    EXPECT(mallinfo().uordblks > 100000);
    free(pointer);
    EXPECT(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
    EXPECT(malloc_trim(0) == 0 || errno == 0);
}

int main(void) {
    refuses();
    allocates();
    looks();
    return failures != 0;
}

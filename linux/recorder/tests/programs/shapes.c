// Every function once, with what the recorder must leave alone checked on the spot: results, errno.
// Own sizes start at 1000003, so that the test finds them in the trace, in this order.
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static volatile size_t huge = SIZE_MAX;

static void plain(void) {
    errno = 77;
    char *object = malloc(1000003);
    CHECK(object != NULL && errno == 77);
    free(object);
    CHECK(errno == 77);
    unsigned char *zeros = calloc(1000, 1004);
    CHECK(zeros != NULL && zeros[0] == 0 && zeros[1003999] == 0 && errno == 77);
    free(zeros);
    free(NULL);
    CHECK(errno == 77);
    free(malloc(0));
}

static void failures(void) {
    errno = 0;
    CHECK(malloc(huge - 4096) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(calloc(huge / 2, 3) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(reallocarray(NULL, huge / 2, 3) == NULL && errno == ENOMEM);
    char *object = malloc(1000033);
    errno = 0;
    CHECK(realloc(object, huge - 4096) == NULL && errno == ENOMEM);
    object[1000032] = 1;
    free(object);
    void *unset = object;
    errno = 77;
    CHECK(posix_memalign(&unset, 3, 64) == EINVAL && unset == (void *)object && errno == 77);
}

static void moves(void) {
    errno = 77;
    char *object = realloc(NULL, 1000053);
    strcpy(object, "kept");
    object = realloc(object, 5000054);  // moves
    CHECK(strcmp(object, "kept") == 0);
    object = realloc(object, 5000055);  // stays
    object = reallocarray(object, 1000, 1056);
    CHECK(strcmp(object, "kept") == 0 && errno == 77);
    CHECK(realloc(object, 0) == NULL);
}

static void aligned(void) {
    void *object = NULL;
    CHECK(posix_memalign(&object, 64, 1000071) == 0 && (uintptr_t)object % 64 == 0);
    free(object);
    object = aligned_alloc(256, 1000192);
    CHECK(object != NULL && (uintptr_t)object % 256 == 0);
    free(object);
    object = memalign(1024, 1000193);
    CHECK(object != NULL && (uintptr_t)object % 1024 == 0);
    free(object);
    object = valloc(1000194);
    CHECK(object != NULL && (uintptr_t)object % 4096 == 0);
    free(object);
    object = pvalloc(1000195);
    CHECK(object != NULL && (uintptr_t)object % 4096 == 0);
    free(object);
}

int main(void) {
    plain();
    failures();
    moves();
    aligned();
    return 0;
}

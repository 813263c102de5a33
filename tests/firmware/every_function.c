// Calls every function of the heap, before main too, with sizes that tell which call made an
// object. So a recording must hold each of them once. The library's own calls come in between.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Not constants to the compiler, which would warn, or leave the call out.
static volatile size_t huge = (size_t)1 << (sizeof(size_t) * 8 - 2);
static volatile size_t nothing = 0;
static void *before_main;

__attribute__((constructor)) static void begin(void) {
    before_main = malloc(1001);
}

static void refused(void) {
    void *object = NULL;
    int failures = malloc(huge) == NULL;
    failures += calloc(huge, 1) == NULL;  // some versions of newlib check no product
    failures += reallocarray(NULL, huge, 8) == NULL;
    failures += realloc(before_main, huge) == NULL;
    failures += posix_memalign(&object, 3, 8) == EINVAL;
    free(NULL);
    if (failures != 5 || object != NULL) {
        exit(5);
    }
}

static void library(void) {
    char letters[1013];
    memset(letters, 'a', sizeof letters - 1);
    letters[sizeof letters - 1] = '\0';
    free(strdup(letters));
    char text[40];
    snprintf(text, sizeof text, "%.17g %s", 0.1 + 0.2, "text");
    printf("%s\n", text);
}

int main(void) {
    void *objects[8] = {NULL};
    refused();
    objects[0] = calloc(2, 501);
    before_main = realloc(before_main, 1003);
    before_main = reallocarray(before_main, 4, 251);
    objects[1] = memalign(64, 1005);
    objects[2] = aligned_alloc(64, 1088);
    if (posix_memalign(&objects[3], 32, 1007) != 0) {
        return 6;
    }
    objects[4] = realloc(NULL, 1016);
#if defined(__NEWLIB__) && !defined(__PICOLIBC__)
    objects[5] = _malloc_r(_REENT, 1008);
    objects[5] = _realloc_r(_REENT, objects[5], 1010);
    objects[6] = _calloc_r(_REENT, 1, 1009);
    objects[7] = _memalign_r(_REENT, 16, 1011);
#endif
    library();
    free(malloc(nothing));
#ifdef __NEWLIB__  // picolibc defines it, too
    cfree(objects[0]);
    objects[0] = NULL;
#endif
    for (size_t i = 0; i < 8; i++) {
        free(objects[i]);
    }
    void *ended = realloc(before_main, nothing);
    free(ended);
    return 0;
}

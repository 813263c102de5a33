// A dlsym that allocates, as some do: the recorder looks for the real functions through it. Its
// objects are used, moved and freed long after.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static char *early, *early_moved;
static int calls;

void *dlsym(void *handle, const char *name) {
    static void *(*real)(void *, const char *);
    if (real == NULL) {
        *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    }
    if (calls++ == 0) {
        early = calloc(1, 100);
        early_moved = realloc(realloc(NULL, 10), 50);
        free(malloc(20));
        strcpy(early_moved, "early");
    }
    return real(handle, name);
}

__attribute__((destructor)) static void late(void) {
    if (calls == 0) {
        return;
    }
    early_moved = realloc(early_moved, 1000003);
    if (early == NULL || early[99] != 0 || strcmp(early_moved, "early") != 0) {
        abort();
    }
    free(early_moved);
    free(early);
}

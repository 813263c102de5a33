// A calloc of 1 GiB of which 1 MiB is used: prints what became resident, in KiB, and whether all of
// it reads as zero where it was looked at. Then the same memory again, written and freed before.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

int main(int count, char **words) {
    const size_t bytes = count > 1 ? strtoul(words[1], NULL, 0) : (size_t)1 << 30;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    unsigned char *const sparse = calloc(1, bytes);
    if (sparse == NULL) {
        return 2;
    }
    memset(sparse + bytes / 2, 1, 1 << 20);
    getrusage(RUSAGE_SELF, &after);
    size_t wrong = 0;
    for (size_t place = 0; place < bytes; place += bytes / 64) {
        wrong += sparse[place] != (place >= bytes / 2 && place < bytes / 2 + (1 << 20));
    }
    wrong += sparse[bytes - 1] != 0;
    free(sparse);
    for (unsigned round = 0; round < 3; round++) {
        unsigned char *const object = calloc(3, 1000000);
        for (size_t place = 0; place < 3000000; place++) {
            wrong += object[place] != 0;
        }
        memset(object, 0xff, 3000000);
        free(object);
    }
    printf("%ld %zu\n", after.ru_maxrss - before.ru_maxrss, wrong);
    return 0;
}

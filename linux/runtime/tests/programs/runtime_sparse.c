// A calloc of 1 GiB of which 1 MiB is used: prints what became resident, in KiB, and whether all of
// it reads as zero where it was looked at. Then the same memory again, written and freed before.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The peak would include the program that exec replaced.
static long resident_kib(void) {
    long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) {
        exit(3);
    }
    fclose(file);
    return pages * 4;
}

int main(int count, char **words) {
    const size_t bytes = count > 1 ? strtoul(words[1], NULL, 0) : (size_t)1 << 30;
    const long before_kib = resident_kib();
    unsigned char *const sparse = calloc(1, bytes);
    if (sparse == NULL) {
        return 2;
    }
    memset(sparse + bytes / 2, 1, 1 << 20);
    const long after_kib = resident_kib();
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
    printf("%ld %zu\n", after_kib - before_kib, wrong);
    return 0;
}

// Resident memory while large objects change. The argument:
// - grow makes one object larger by 1 MiB at a time, and prints its moves and resident MiB.
// - shrink prints resident MiB after two large objects became small.
// - clear prints resident MiB after a large calloc of memory that was used before.
// - random, with a seed, checks the bytes of objects that are made, resized and freed while the
//   heap grows, and prints how many were wrong.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
#define OBJECTS 64

static long resident_mib(void) {
    long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%*d %ld", &pages) != 1) {
        exit(2);
    }
    fclose(file);
    return pages * 4096 / (long)MIB;
}

static void grow(void) {
    char *object = NULL;
    int moves = 0;
    for (size_t mib = 1; mib <= 200; mib++) {
        char *const moved = realloc(object, mib * MIB);
        moves += moved != object;
        object = moved;
        memset(object + (mib - 1) * MIB, 1, MIB);
    }
    printf("%d %ld\n", moves, resident_mib());
}

static void shrink(void) {
    char *objects[2] = {NULL, NULL};
    for (size_t bytes = 16 * MIB; bytes <= 128 * MIB; bytes += bytes / 2) {
        for (int i = 0; i < 2; i++) {
            objects[i] = realloc(objects[i], bytes);
            memset(objects[i], 1, bytes);
        }
    }
    for (int i = 0; i < 2; i++) {
        objects[i] = realloc(objects[i], 10);
    }
    printf("%ld\n", resident_mib());
}

static void clear(void) {
    char *const used = malloc(200 * MIB);
    memset(used, 1, 200 * MIB);
    free(used);
    unsigned char *const cleared = calloc(1, 190 * MIB);
    const long resident = resident_mib();
    size_t wrong = 0;
    for (size_t i = 0; i < 190 * MIB; i++) {
        wrong += cleared[i] != 0;
    }
    printf("%ld %zu\n", resident, wrong);
}

static void check_random(uint64_t seed) {
    static unsigned char *objects[OBJECTS];
    static size_t bytes_of[OBJECTS];
    size_t wrong = 0;
    for (int call = 0; call < 3000; call++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const unsigned i = (unsigned)(seed >> 33) % OBJECTS;
        const size_t bytes = (size_t)(seed >> 40) % (1 + (MIB << (seed >> 62) * 2) / 2);
        for (size_t at = 0; at < bytes_of[i]; at += 4099) {
            wrong += objects[i][at] != (unsigned char)(i + at);
        }
        const size_t kept = bytes < bytes_of[i] ? bytes : bytes_of[i];
        objects[i] = bytes == 0 ? (free(objects[i]), NULL) : realloc(objects[i], bytes);
        for (size_t at = 0; at < kept; at += 4099) {
            wrong += objects[i][at] != (unsigned char)(i + at);
        }
        for (size_t at = 0; at < bytes; at += 4099) {
            objects[i][at] = (unsigned char)(i + at);
        }
        bytes_of[i] = bytes;
    }
    printf("%zu\n", wrong);
}

int main(int count, char **words) {
    const char *const act = count > 1 ? words[1] : "";
    if (strcmp(act, "grow") == 0) {
        grow();
    } else if (strcmp(act, "shrink") == 0) {
        shrink();
    } else if (strcmp(act, "clear") == 0) {
        clear();
    } else {
        check_random(count > 2 ? strtoull(words[2], NULL, 10) : 1);
    }
    return 0;
}

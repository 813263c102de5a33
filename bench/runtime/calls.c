// What one call of the allocator costs: pairs of malloc and free of 64 bytes, and a random mix of
// sizes over 10,000 live objects. Prints nanoseconds of CPU time per pair of calls.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LIVE 10000u

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static unsigned long next(unsigned long *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static double pairs(unsigned long count) {
    const double start = seconds();
    for (unsigned long index = 0; index < count; index++) {
        void *volatile object = malloc(64);
        free(object);
    }
    return (seconds() - start) / (double)count * 1e9;
}

// Nine in ten are small, one in forty is large.
static size_t size_of(unsigned long random) {
    const unsigned kind = (random >> 20) & 1023u;
    return kind < 900    ? 16 + (random >> 32) % 240
           : kind < 1000 ? 256 + (random >> 32) % 3840
                         : 4096 + (random >> 32) % 60000;
}

static double mixed(unsigned long count) {
    static char *objects[LIVE];
    unsigned long state = 88172645463325252u;
    const double start = seconds();
    for (unsigned long index = 0; index < count; index++) {
        const unsigned long random = next(&state);
        char **const object = &objects[random % LIVE];
        free(*object);
        *object = malloc(size_of(random));
        **object = 1;
    }
    return (seconds() - start) / (double)count * 1e9;
}

int main(int count, char **words) {
    const unsigned long scale = count > 1 ? strtoul(words[1], NULL, 0) : 10;
    printf("%.2f %.2f\n", pairs(scale * 3000000), mixed(scale * 1000000));
    return 0;
}

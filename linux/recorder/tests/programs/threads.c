// Threads that hand objects to each other: one allocates, another frees. Sizes are 16 n + 7, so
// that they can be told from what the C library allocates. Prints how many were allocated.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define BOXES 64

static _Atomic(void *) boxes[BOXES];
static long rounds;

static void *work(void *seed) {
    uint64_t x = (uint64_t)(uintptr_t)seed * 0x9e3779b97f4a7c15u | 1u;
    for (long i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        char *object = malloc(16 * (x >> 33 & 31) + 7);
        object[0] = 1;
        free(atomic_exchange(&boxes[x % BOXES], object));
    }
    return NULL;
}

int main(int count, char **arguments) {
    const long threads = count > 1 ? atol(arguments[1]) : 4;
    rounds = count > 2 ? atol(arguments[2]) : 100000;
    pthread_t all[64];
    for (long i = 0; i < threads; i++) {
        pthread_create(&all[i], NULL, work, (void *)(i + 1));
    }
    for (long i = 0; i < threads; i++) {
        pthread_join(all[i], NULL);
    }
    for (int i = 0; i < BOXES; i++) {
        free(boxes[i]);
    }
    printf("%ld\n", threads * rounds);
    return 0;
}

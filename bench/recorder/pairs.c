// The densest stream of events there is: of THREADS threads each allocates and frees at random, up
// to 1024 objects of 16 to 415 bytes, and does nothing else. Arguments: events a thread, threads.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define OBJECTS 1024

static long events;

static void *work(void *seed) {
    void *objects[OBJECTS] = {0};
    uint64_t x = 88172645463325252u + (uint64_t)(uintptr_t)seed * 7919u;
    for (long i = 0; i < events; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        void **object = &objects[x % OBJECTS];
        if (*object != NULL) {
            free(*object);
            *object = NULL;
        } else {
            *object = malloc(16 + (x >> 40) % 400);
        }
    }
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t threads[64];
    const long threads_count = count > 2 ? atol(arguments[2]) : 1;
    events = count > 1 ? atol(arguments[1]) : 1000000;
    for (long i = 1; i < threads_count && i < 64; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    work(NULL);
    for (long i = 1; i < threads_count && i < 64; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}

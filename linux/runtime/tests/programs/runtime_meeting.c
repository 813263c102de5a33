// Threads that allocate at the same time. Prints how often they went to sleep.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define THREADS 5
#define PAIRS 100000

static void *work(void *unused) {
    for (int pair = 0; pair < PAIRS; pair++) {
        void *volatile object = malloc(50);
        free(object);
    }
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    struct rusage usage;
    for (int number = 0; number < THREADS; number++) {
        if (pthread_create(&threads[number], NULL, work, NULL) != 0) {
            return 1;
        }
    }
    for (int number = 0; number < THREADS; number++) {
        pthread_join(threads[number], NULL);
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld\n", usage.ru_nvcsw);
    return 0;
}

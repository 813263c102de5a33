// Pairs of malloc and free, in one thread or several. Arguments: MIN and SPAN, a power of two, for
// random sizes from MIN to MIN + SPAN - 1; THREADS; and pairs of each.
#include <pthread.h>
#include <stdlib.h>

static size_t size_min, size_span;
static unsigned long pairs;

static void *run(void *argument) {
    unsigned long state = 88172645463325252u;
    for (unsigned long index = 0; index < pairs; index++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        void *volatile object = malloc(size_min + (state & (size_span - 1)));
        free(object);
    }
    return argument;
}

int main(int count, char **words) {
    pthread_t threads[64];
    if (count != 5) {
        return 2;
    }
    size_min = strtoul(words[1], NULL, 0);
    size_span = strtoul(words[2], NULL, 0);
    const unsigned long others = strtoul(words[3], NULL, 0) - 1;
    pairs = strtoul(words[4], NULL, 0);
    if (others > 63) {
        return 2;
    }
    for (unsigned long number = 0; number < others; number++) {
        pthread_create(&threads[number], NULL, run, NULL);
    }
    run(NULL);
    for (unsigned long number = 0; number < others; number++) {
        pthread_join(threads[number], NULL);
    }
    return 0;
}

// Each of some threads holds COUNT objects of SIZE bytes at once, again and again; all threads do
// so at the same time. Prints how many requests were refused. Arguments: count, size, threads,
// rounds.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 1000

static unsigned count, rounds;
static size_t size;
static pthread_barrier_t barrier;
static _Atomic unsigned refused;

static void *work(void *argument) {
    void *objects[COUNT_MAX];
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned index = 0; index < count; index++) {
            errno = 0;
            objects[index] = malloc(size);
            refused += objects[index] == NULL && errno == ENOMEM;
            if (objects[index] != NULL) {
                memset(objects[index], (int)round, size);
            }
        }
        pthread_barrier_wait(&barrier);
        for (unsigned index = 0; index < count; index++) {
            free(objects[index]);
        }
        pthread_barrier_wait(&barrier);
    }
    return argument;
}

int main(int words_count, char **words) {
    const unsigned threads = words_count > 3 ? (unsigned)atoi(words[3]) : 1;
    pthread_t thread[16];
    count = (unsigned)atoi(words[1]);
    size = strtoul(words[2], NULL, 0);
    rounds = words_count > 4 ? (unsigned)atoi(words[4]) : 1;
    if (count > COUNT_MAX || pthread_barrier_init(&barrier, NULL, threads) != 0) {
        return 2;
    }
    for (unsigned index = 1; index < threads; index++) {
        if (pthread_create(&thread[index], NULL, work, NULL) != 0) {
            return 2;
        }
    }
    work(NULL);
    for (unsigned index = 1; index < threads; index++) {
        pthread_join(thread[index], NULL);
    }
    printf("%u\n", refused);
    return 0;
}

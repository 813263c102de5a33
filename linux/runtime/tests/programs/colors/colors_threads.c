// Threads that create, name and join others at once, more of them than have a record, and objects
// that other threads free. Tasks are `one` and `two`.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/runtime/colors/tau_task.h"

#define MAKERS 6
#define TURNS 300
#define AT_ONCE 3
#define OBJECTS 50
#define SLEEPERS 1200  // more than have a record

#define CHECK(condition) ((condition) ? (void)0 : (printf("line %d\n", __LINE__), exit(1)))

static pthread_barrier_t awake;

static void *work(void *argument) {
    char *objects[OBJECTS];
    for (int index = 0; index < OBJECTS; index++) {
        objects[index] = malloc(20 + 7 * index);
        memset(objects[index], index, 20 + 7 * index);
    }
    if ((uintptr_t)argument % 3 == 0) {
        pthread_setname_np(pthread_self(), "two");
    }
    for (int index = 0; index < OBJECTS; index++) {
        CHECK(objects[index][5] == index && objects[index][19 + 7 * index] == index);
        free(objects[index]);
    }
    return malloc(33);
}

static void *make(void *argument) {
    (void)argument;
    for (uintptr_t turn = 0; turn < TURNS; turn++) {
        pthread_t threads[AT_ONCE];
        CHECK(tau_task(turn % 2 != 0 ? "one" : "two") == 0);
        for (uintptr_t number = 0; number < AT_ONCE; number++) {
            CHECK(pthread_create(&threads[number], NULL, work, (void *)(turn + number)) == 0);
            if (number == 1) {
                pthread_setname_np(threads[number], "one");
            }
        }
        tau_task(NULL);
        for (int number = 0; number < AT_ONCE; number++) {
            void *object;
            CHECK(pthread_join(threads[number], &object) == 0);
            free(object);
        }
    }
    return NULL;
}

static void *sleep_on(void *argument) {
    void *const object = malloc(10);
    (void)argument;
    pthread_barrier_wait(&awake);
    free(object);
    return NULL;
}

int main(void) {
    static pthread_t threads[SLEEPERS];
    pthread_attr_t attributes;
    for (int number = 0; number < MAKERS; number++) {
        CHECK(pthread_create(&threads[number], NULL, make, NULL) == 0);
    }
    for (int number = 0; number < MAKERS; number++) {
        CHECK(pthread_join(threads[number], NULL) == 0);
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    pthread_barrier_init(&awake, NULL, SLEEPERS + 1);
    CHECK(tau_task("one") == 0);
    for (int number = 0; number < SLEEPERS; number++) {
        CHECK(pthread_create(&threads[number], &attributes, sleep_on, NULL) == 0);
    }
    tau_task(NULL);
    pthread_barrier_wait(&awake);
    for (int number = 0; number < SLEEPERS; number++) {
        CHECK(pthread_join(threads[number], NULL) == 0);
    }
    puts("done");
    return 0;
}

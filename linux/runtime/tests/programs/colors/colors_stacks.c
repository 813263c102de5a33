// The stack of task `one` serves one thread at a time. 100 threads one after another have it; of
// two at once only the first; a detached one keeps it. Attributes that were asked for are kept.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "linux/runtime/colors/tau_task.h"

#define CHECK(condition) ((condition) ? (void)0 : (printf("line %d\n", __LINE__), exit(1)))

static sem_t go, ready;
static int result;

static void *place(void *argument) {
    char here;
    *(void **)argument = &here;
    return &result;
}

static void *wait_for_it(void *argument) {
    place(argument);
    sem_post(&ready);
    sem_wait(&go);
    pthread_exit(&result);
}

static bool is_colored(const void *place) {
    return (uintptr_t)place >> 44 == 1;
}

int main(void) {
    pthread_t one, two;
    pthread_attr_t attributes;
    void *here = NULL, *there = NULL, *returned = NULL;
    sem_init(&go, 0, 0);
    sem_init(&ready, 0, 0);
    CHECK(tau_task("one") == 0);
    for (int turn = 0; turn < 100; turn++) {
        CHECK(pthread_create(&one, NULL, place, &here) == 0);
        CHECK(pthread_join(one, &returned) == 0 && returned == &result && is_colored(here));
    }

    // A thread that has left its task before it began gives the stack back too.
    for (int turn = 0; turn < 100; turn++) {
        here = NULL;
        CHECK(tau_task("one") == 0);
        CHECK(pthread_create(&one, NULL, place, &here) == 0);
        pthread_setname_np(one, "two");
        CHECK(pthread_join(one, NULL) == 0 && is_colored(here));
    }

    // Joined in any other way.
    for (int way = 0; way < 3; way++) {
        const struct timespec until = {INT32_MAX, 0};
        here = NULL;
        CHECK(pthread_create(&one, NULL, place, &here) == 0);
        int error = EBUSY;
        while (error == EBUSY) {
            error = way == 0   ? pthread_tryjoin_np(one, &returned)
                    : way == 1 ? pthread_timedjoin_np(one, &returned, &until)
                               : pthread_clockjoin_np(one, &returned, CLOCK_MONOTONIC, &until);
        }
        CHECK(error == 0 && returned == &result && is_colored(here));
    }

    CHECK(pthread_create(&one, NULL, wait_for_it, &here) == 0);
    CHECK(pthread_create(&two, NULL, wait_for_it, &there) == 0);
    sem_wait(&ready);
    sem_wait(&ready);
    CHECK(is_colored(here) && !is_colored(there));
    sem_post(&go);
    sem_post(&go);
    CHECK(pthread_join(one, &returned) == 0 && returned == &result);
    CHECK(pthread_join(two, &returned) == 0 && returned == &result);

    void *const own =
        mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, own, 1 << 16);
    CHECK(pthread_create(&one, &attributes, place, &here) == 0 && pthread_join(one, NULL) == 0);
    CHECK((uintptr_t)here - (uintptr_t)own < 1 << 16);
    pthread_attr_destroy(&attributes);

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    CHECK(pthread_create(&one, &attributes, wait_for_it, &here) == 0);
    sem_wait(&ready);
    CHECK(is_colored(here));
    CHECK(pthread_join(one, NULL) != 0);  // it is detached
    CHECK(pthread_create(&two, NULL, place, &there) == 0 && pthread_join(two, NULL) == 0);
    CHECK(!is_colored(there));
    sem_post(&go);
    tau_task(NULL);
    puts("done");
    return 0;
}

// A thread that waits for the lock, and meanwhile does not run: how often the others take the lock
// before it. Arguments: threads; "fair", "real-time" or "late", where it goes on only after they
// took it LATE_TURNS times. Prints that number, how often they took the lock in all before the
// thread had it, and after how many milliseconds each of them had it again. Exit status 3:
// SCHED_FIFO is not allowed here.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "linux/runtime/lock.h"

#define ENOUGH 1000000u  // more than this has no bound
#define QUIET_US 300000
#define LATE_TURNS 10000u

static _Atomic unsigned turns;  // how often others had the lock
static _Atomic unsigned own_turns[16];
static _Atomic bool is_paused, is_resumed, is_done;
static unsigned passes;

static void pause_here(int number) {
    (void)number;
    is_paused = true;
    while (!is_resumed) {
        usleep(100);
    }
    tau_lock_take_shared();  // not after the turn of the wait that it interrupted
    tau_lock_release_shared();
}

static void *wait_long(void *is_urgent) {
    const struct sched_param urgent = {.sched_priority = 10};
    const int policy = SCHED_FIFO | SCHED_RESET_ON_FORK;  // the flag is part of what it reads back
    if (is_urgent != NULL && sched_setscheduler(0, policy, &urgent) != 0) {
        _exit(errno == EPERM ? 3 : 4);
    }
    tau_lock_take_shared();
    passes = turns;
    tau_lock_release_shared();
    return NULL;
}

static void *take_often(void *own) {
    while (!is_done && turns < ENOUGH) {
        tau_lock_take_shared();
        turns++;
        ++*(_Atomic unsigned *)own;
        tau_lock_release_shared();
    }
    return NULL;
}

static long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void wait_until_asked(bool is_urgent) {
    while (is_urgent ? (tau_lock.word & ~TAU_LOCK_ID_MASK) == 0 : !tau_lock_has_waiters()) {
        usleep(100);
    }
}

int main(int count, char **words) {
    const int others = count == 3 ? atoi(words[1]) - 1 : 0;
    const bool is_urgent = count == 3 && strcmp(words[2], "real-time") == 0;
    const bool is_late = count == 3 && strcmp(words[2], "late") == 0;
    pthread_t waiting, threads[16];
    if (others < 1 || others > 16) {
        return 2;
    }
    alarm(60);
    signal(SIGUSR1, pause_here);
    tau_lock_take_shared();
    pthread_create(&waiting, NULL, wait_long, is_urgent ? &turns : NULL);
    wait_until_asked(is_urgent);
    if (is_urgent && tau_lock_has_waiters()) {
        return 5;  // it took a ticket
    }
    if (!is_urgent) {
        pthread_kill(waiting, SIGUSR1);
        while (!is_paused) {
            usleep(100);
        }
    }
    for (int number = 0; number < others; number++) {
        pthread_create(&threads[number], NULL, take_often, &own_turns[number]);
    }
    usleep(is_urgent ? QUIET_US : 0);  // so that they wait, too
    tau_lock_release_shared();
    unsigned before;
    do {
        before = turns;
        usleep(QUIET_US);
    } while ((before != turns || (is_late && turns < LATE_TURNS)) && turns < ENOUGH && !is_urgent);
    before = turns;
    unsigned own_before[16];
    for (int number = 0; number < others; number++) {
        own_before[number] = own_turns[number];
    }
    const long start_ms = milliseconds();
    is_resumed = true;
    pthread_join(waiting, NULL);
    for (int number = 0; number < others; number++) {
        while (own_turns[number] == own_before[number] && turns < ENOUGH) {
            usleep(1000);
        }
    }
    const long again_ms = milliseconds() - start_ms;
    is_done = true;
    for (int number = 0; number < others; number++) {
        pthread_join(threads[number], NULL);
    }
    printf("%u %u %ld\n", before, passes, again_ms);
    return 0;
}

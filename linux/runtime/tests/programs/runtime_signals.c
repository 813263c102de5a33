// A timer's handler allocates, resizes, frees and forks while the program allocates: nothing hangs,
// no object is damaged, and at the end the heaps hold as much as before. With an argument there is
// a second thread all the while; what that one leaves in the C library is not looked at.
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICKS 300

static volatile sig_atomic_t ticks;
static char *volatile handed[TICKS + 1];
static char *volatile made[TICKS + 1];
static char *volatile grown;
static volatile int is_done;

static void tick(int number) {
    (void)number;
    char *const object = malloc(40);
    if (object != NULL) {
        memset(object, 3, 40);
        free(object);
    }
    // The handler frees the program's objects.
    if (ticks < TICKS) {
        free(handed[ticks]);
        handed[ticks] = NULL;
        made[ticks] = strdup("a handler's");
        char *const larger = realloc(grown, 100 + 10 * ticks);
        grown = larger != NULL ? larger : grown;
    }
    if (ticks % 50 == 0) {
        const pid_t child = fork();
        if (child == 0) {
            free(malloc(100));
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    ticks++;
}

static void *beside(void *argument) {
    while (!is_done) {
        free(malloc(100));
        usleep(1000);
    }
    return argument;
}

int main(int count, char **words) {
    (void)words;
    const struct itimerval every = {{0, 1000}, {0, 1000}}, never = {0};
    pthread_t thread;
    sigset_t none, alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, &none);
    if (count > 1) {
        pthread_create(&thread, NULL, beside, NULL);
    }
    const size_t used_bytes = mallinfo2().uordblks;
    grown = strdup("the program's");
    for (unsigned index = 0; index < TICKS; index++) {
        handed[index] = malloc(50 + index);
    }
    signal(SIGALRM, tick);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    unsigned long calls = 0;
    while (ticks < TICKS) {
        unsigned char *object = malloc(calls % 700 + 1);
        object[0] = (unsigned char)calls;
        object = realloc(object, calls % 1500 + 1);
        if (object[0] != (unsigned char)calls) {
            puts("an object was damaged");
            return 1;
        }
        free(object);
        calls++;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    for (unsigned index = 0; index < TICKS; index++) {
        char *const larger = made[index] != NULL ? realloc(made[index], 5000) : NULL;
        if (larger != NULL && strcmp(larger, "a handler's") != 0) {
            puts("an object of a handler was damaged");
            return 1;
        }
        free(larger);
    }
    if (strcmp(grown, "the program's") != 0) {
        puts("an object that a handler resized was damaged");
        return 1;
    }
    free(grown);
    if (count == 1 && mallinfo2().uordblks != used_bytes) {
        puts("an object was not freed");
        return 1;
    }
    is_done = 1;
    if (count > 1) {
        pthread_join(thread, NULL);
    }
    puts("done");
    return 0;
}

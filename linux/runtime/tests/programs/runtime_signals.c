// A timer's handler allocates, frees and forks while the program allocates: nothing hangs, and no
// object is damaged. With an argument there is a second thread all the while.
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
static volatile int is_done;

static void tick(int number) {
    (void)number;
    char *const object = malloc(40);
    if (object != NULL) {
        memset(object, 3, 40);
        free(object);
    }
    // What the program made, the handler frees.
    if (ticks < TICKS) {
        free(handed[ticks]);
        handed[ticks] = NULL;
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
    const struct itimerval every = {{0, 1000}, {0, 1000}};
    pthread_t thread;
    sigset_t none, alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, &none);
    if (count > 1) {
        pthread_create(&thread, NULL, beside, NULL);
    }
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
    is_done = 1;
    if (count > 1) {
        pthread_join(thread, NULL);
    }
    puts("done");
    return 0;
}

// A timer's handler forks 200 times while the program allocates. Parent and child both return to
// the interrupted code. Says how many children a signal killed: 42 = none.
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKS 200

pid_t _Fork(void);

static volatile int forks, is_child;

// Every second time past the handlers of pthread_atfork.
static void fork_here(int number) {
    (void)number;
    if (is_child || forks >= FORKS) {
        return;
    }
    forks++;
    if ((forks % 2 == 0 ? _Fork() : fork()) == 0) {
        is_child = 1;
    }
}

int main(void) {
    struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 2000}, {0, 2000}};
    void *objects[64] = {0};
    unsigned int state = 1;
    int steps = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    while (is_child ? steps++ < 500 : forks < FORKS) {
        state = state * 1103515245u + 12345u;
        void **object = &objects[state >> 16 & 63];
        if ((state >> 24 & 3) == 0) {
            *object = realloc(*object, (state >> 8) % 3000 + 1);
        } else {
            free(*object);
            *object = malloc((state >> 8) % 300 + 1);
        }
    }
    if (is_child) {
        _exit(0);
    }
    every = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every, NULL);
    int status, killed = 0;
    while (wait(&status) > 0) {
        killed += WIFSIGNALED(status) != 0;
    }
    return killed == 0 ? 42 : killed > 40 ? 40 : killed;
}

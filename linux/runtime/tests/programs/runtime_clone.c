// Children that have another's thread id: of vfork, while other threads allocate, and of a clone
// without fork handlers, which starts threads of its own.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 100
#define CALLS 2000
#define SECONDS 60

static volatile int is_done;

static void churn(int calls) {
    for (int call = 0; call < calls; call++) {
        free(malloc(10 + (size_t)call % 1000));
    }
}

static void *churn_on(void *argument) {
    while (!is_done) {
        churn(CALLS);
    }
    return argument;
}

static int ended(pid_t child) {
    int status = 1;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

static void allocate_beside(int rounds, int vforks) {
    pthread_t threads[3];
    is_done = 0;
    for (int index = 0; index < 3; index++) {
        pthread_create(&threads[index], NULL, churn_on, NULL);
    }
    for (int round = 0; round < rounds; round++) {
        const pid_t child = vforks ? vfork() : -1;
        if (child <= 0) {
            churn(CALLS);
        }
        if (child == 0) {
            _exit(0);
        }
        if (child > 0 && ended(child) != 0) {
            exit(1);
        }
    }
    is_done = 1;
    for (int index = 0; index < 3; index++) {
        pthread_join(threads[index], NULL);
    }
}

static pid_t clone_alone(void) {
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

int main(void) {
    alarm(SECONDS);
    pid_t child = fork();
    if (child == 0) {
        churn(1);
        child = clone_alone();
        if (child == 0) {
            alarm(SECONDS);
            allocate_beside(ROUNDS, 0);
            _exit(0);
        }
        _exit(ended(child));
    }
    if (ended(child) != 0) {
        return 1;
    }
    allocate_beside(ROUNDS, 1);
    child = clone_alone();
    if (child == 0) {
        alarm(SECONDS);
        allocate_beside(ROUNDS, 0);
        _exit(0);
    }
    if (ended(child) != 0) {
        return 2;
    }
    puts("done");
    return 0;
}

// Three threads allocate without pause while the first one forks: each child allocates, frees its
// parent's objects, and ends by exit.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int is_done;

static void *work(void *argument) {
    while (!is_done) {
        char *object = malloc(100 + (size_t)argument);
        object = realloc(object, 5000);
        free(object);
    }
    return argument;
}

int main(void) {
    pthread_t threads[3];
    for (size_t index = 0; index < 3; index++) {
        pthread_create(&threads[index], NULL, work, (void *)index);
    }
    for (int round = 0; round < 60; round++) {
        char *const object = strdup("the parent's");
        const pid_t child = fork();
        if (child == 0) {
            free(object);
            for (size_t size = 1; size < 3000; size += 50) {
                free(calloc(1, size));
            }
            exit(0);
        }
        int status = 1;
        if (waitpid(child, &status, 0) != child || status != 0) {
            printf("child %d ended with %#x\n", round, status);
            return 1;
        }
        free(object);
    }
    is_done = 1;
    for (size_t index = 0; index < 3; index++) {
        pthread_join(threads[index], NULL);
    }
    puts("done");
    return 0;
}

// 20 forked children under two busy threads; every second one executes this program again. Each
// child frees an object of its parent, moves another, and makes 1000 of its own (size 55).
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int done;

static void *busy(void *unused) {
    (void)unused;
    while (!done) {
        free(malloc(101));
    }
    return NULL;
}

static void own_objects(void) {
    void *objects[1000];
    for (int i = 0; i < 1000; i++) {
        objects[i] = malloc(55);
    }
    for (int i = 0; i < 1000; i++) {
        free(objects[i]);
    }
}

int main(int count, char **arguments) {
    if (count > 1) {
        own_objects();
        return 0;
    }
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, busy, NULL);
    }
    void *inherited[20];
    void *moved[20];
    for (int i = 0; i < 20; i++) {
        inherited[i] = malloc(77);
        moved[i] = malloc(78);
    }
    int failures = 0;
    for (int i = 0; i < 20; i++) {
        const pid_t child = fork();
        if (child == 0) {
            free(inherited[i]);
            moved[i] = realloc(moved[i], 5000);
            free(moved[i]);
            own_objects();
            if (i % 2 == 0) {
                execl(arguments[0], arguments[0], "again", (char *)NULL);
            }
            exit(0);
        }
        int status = 1;
        waitpid(child, &status, 0);
        failures += status != 0;
    }
    done = 1;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    return failures;
}

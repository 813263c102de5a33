// Misuse by a thread of task `one`: the argument says which.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "linux/runtime/colors/tau_task.h"

static int down(volatile char *above) {
    volatile char here[256];
    here[0] = above[0];
    return down(here) + here[0];
}

static void *work(void *argument) {
    const char *const way = argument;
    char start = 0;
    char *const object = malloc(100);
    if (strcmp(way, "overflow") == 0) {
        down(&start);
    } else if (strcmp(way, "foreign") == 0) {
        free(&start);  // an address of the window that is not an object's
    } else if (strcmp(way, "double") == 0) {
        free(object);
        free(object);
    } else if (strcmp(way, "gap") == 0) {
        *(volatile char *)(((uintptr_t)object & ~(uintptr_t)0xffff) + (1 << 16)) = 1;
    }
    return NULL;
}

int main(int count, char **words) {
    pthread_t thread;
    (void)count;
    tau_task("one");
    pthread_create(&thread, NULL, work, words[1]);
    pthread_join(thread, NULL);
    return 0;
}

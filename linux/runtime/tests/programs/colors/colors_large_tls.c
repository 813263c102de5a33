// A thread whose thread-local data does not fit the stack of task `one`: it has an ordinary one.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "linux/runtime/colors/tau_task.h"

static _Thread_local char large[60000];

static void *fill(void *argument) {
    memset(large, 1, sizeof large);
    *(uintptr_t *)argument = (uintptr_t)&argument;
    return NULL;
}

int main(void) {
    pthread_t thread;
    uintptr_t place = 0;
    tau_task("one");
    if (pthread_create(&thread, NULL, fill, &place) != 0 || pthread_join(thread, NULL) != 0) {
        puts("no thread");
        return 1;
    }
    puts(place >> 44 == 1 ? "on the plan's stack" : "on an ordinary stack");
    return 0;
}

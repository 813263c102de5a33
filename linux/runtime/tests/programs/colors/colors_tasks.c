// Threads that run tasks, as their arguments say: WAY:TASK. It prints where their objects and
// stacks are, then all mappings. Ways: `call` names the task before the thread is created, `name`
// names the thread from inside, `after` names it from outside, `plain` leaves it as it is.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/runtime/colors/tau_task.h"

#define OBJECTS 40
#define ZEROS 6000

static pthread_barrier_t named, done;
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

// A large object of a heap's first pages, which hold what the heap wrote there.
static void check_zeroed(void) {
    char *const zeros = calloc(1, ZEROS);
    for (int index = 0; zeros != NULL && index < ZEROS; index++) {
        if (zeros[index] != 0) {
            printf("damaged\n");
        }
    }
    free(zeros);
}

static void *work(void *argument) {
    const char *const way = argument;
    const char *const task = strchr(way, ':') + 1;
    char *objects[OBJECTS];
    if (strncmp(way, "name:", 5) == 0) {
        pthread_setname_np(pthread_self(), task);
    }
    pthread_barrier_wait(&named);
    check_zeroed();
    for (int index = 0; index < OBJECTS; index++) {
        objects[index] = malloc(60 + index);
        if (objects[index] == NULL) {
            continue;  // refused
        }
        memset(objects[index], index, 60 + index);
        if (index % 4 == 0) {
            char *const larger = realloc(objects[index], 120);
            objects[index] = larger != NULL ? larger : objects[index];
        }
    }
    pthread_mutex_lock(&printing);
    printf("stack %s %p\n", way, (void *)&objects);
    for (int index = 0; index < OBJECTS; index++) {
        printf("object %s %p\n", way, (void *)objects[index]);
        if (objects[index] != NULL && objects[index][30] != index) {
            printf("damaged\n");
        }
    }
    pthread_mutex_unlock(&printing);
    pthread_barrier_wait(&done);
    for (int index = 0; index < OBJECTS; index += 2) {
        free(objects[index]);
    }
    return objects[1];  // the creator frees it
}

static void print_maps(void) {
    char text[512];
    FILE *const maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(text, sizeof text, maps) != NULL) {
        printf("map %s", text);
    }
    fclose(maps);
}

int main(int count, char **words) {
    pthread_t threads[64];
    pthread_barrier_init(&named, NULL, (unsigned)count);
    pthread_barrier_init(&done, NULL, (unsigned)count);
    for (int index = 1; index < count; index++) {
        const char *const task = strchr(words[index], ':') + 1;
        const bool is_called = strncmp(words[index], "call:", 5) == 0;
        if (is_called && tau_task_if_any(task) != 0) {
            printf("no task %s: %d\n", task, errno == ENOENT);
        }
        if (pthread_create(&threads[index], NULL, work, words[index]) != 0) {
            return 1;
        }
        if (is_called) {
            tau_task_if_any(NULL);
        }
        if (strncmp(words[index], "after:", 6) == 0) {
            pthread_setname_np(threads[index], task);
        }
    }
    pthread_barrier_wait(&named);
    printf("object plain:main %p\n", malloc(100));
    pthread_barrier_wait(&done);
    for (int index = 1; index < count; index++) {
        void *object;
        pthread_join(threads[index], &object);
        free(object);
    }
    print_maps();
    return 0;
}

// Two tasks allocate 32 pages each, and print their numbers [P4-13]: with the C library's malloc,
// or with the paper's colors, N objects of each of M colors.
//
// Arguments: bytes of an object for malloc; or nothing for colors.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "peers/conventional/tlb_malloc.h"

enum { TASKS = 2, PAGES = 32, PAGE_LOG2 = 12, SETS = 16, WAYS = 4, COLORED_BYTES = 2500 };

static struct tau_tlb_malloc colors;
static size_t object_bytes;  // 0: colors
// Both tasks live at a time. A thread that begins later than the other ends gets its arena, whose
// pages differ.
static pthread_barrier_t both;

struct task {
    unsigned number;
    void *objects[PAGES];
};

static void *run(void *argument) {
    struct task *const task = argument;
    if (object_bytes != 0) {
        pthread_barrier_wait(&both);
    }
    for (unsigned i = 0; i < PAGES; i++) {  // bound: the pages
        const unsigned color = task->number * SETS / TASKS + i / WAYS;
        task->objects[i] = object_bytes != 0
                               ? malloc(object_bytes)
                               : tau_tlb_malloc_allocate(&colors, COLORED_BYTES, color);
        if (task->objects[i] == NULL) {
            exit(1);
        }
    }
    if (object_bytes != 0) {
        pthread_barrier_wait(&both);
    }
    return NULL;
}

int main(int count, char **arguments) {
    static struct tau_tlsf *heaps[SETS];
    const struct tau_tlb_malloc_shape shape = {SETS, WAYS, 0, PAGE_LOG2};
    void *const pool = aligned_alloc((size_t)SETS << PAGE_LOG2, TAU_TLB_MALLOC_POOL_BYTES(&shape));
    object_bytes = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
    if (pthread_barrier_init(&both, NULL, TASKS) != 0 || pool == NULL ||
        tau_tlb_malloc_init(&colors, &shape, pool, heaps) != TAU_OK) {
        return 1;
    }
    static struct task tasks[TASKS];
    pthread_t threads[TASKS];
    for (unsigned i = 0; i < TASKS; i++) {  // bound: the tasks
        tasks[i].number = i;
        if (object_bytes == 0) {
            run(&tasks[i]);  // a heap without a lock
        } else if (pthread_create(&threads[i], NULL, run, &tasks[i]) != 0) {
            return 1;
        }
    }
    for (unsigned i = 0; i < TASKS; i++) {  // bound: the tasks
        if (object_bytes != 0) {
            pthread_join(threads[i], NULL);
        }
        for (unsigned page = 0; page < PAGES; page++) {  // bound: the pages
            printf("%zu\n", (size_t)tasks[i].objects[page] >> PAGE_LOG2);
        }
    }
    return 0;
}

// What an attacker costs a victim on one core. Threads named victim, attacker and other allocate
// objects until they begin in as many pages as is needed. Then the first thread walks over pages of
// one of them, and times a pass over the victim's pages. Argument: the CPU. It prints ticks of a
// pass after pages of other, of attacker, and of the victim's own heap: the mean of the lower half.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/runtime/cells.h"

#define VICTIMS 16  // pages of a pass
#define OTHERS 192  // pages before it; more than a first level has entries
#define ROUNDS 3000
#define SETTLING 8  // passes of the victim before each attack
#define KINDS 3

struct heap {
    const char *name;
    unsigned count;  // number of pages
    uintptr_t objects[VICTIMS + OTHERS];
};

static struct heap heaps[] = {
    {.name = "other", .count = OTHERS},
    {.name = "attacker", .count = OTHERS},
    {.name = "victim", .count = VICTIMS + OTHERS},
};

static void *allocate(void *argument) {
    struct heap *const heap = argument;
    pthread_setname_np(pthread_self(), heap->name);
    for (unsigned count = 0; count < heap->count;) {
        char *const found = malloc(OBJECT_BYTES);
        if (found == NULL) {
            exit(1);
        }
        memset(found, 1, OBJECT_BYTES);
        bool is_known = false;
        for (unsigned other = 0; other < count; other++) {
            is_known = is_known || page_of(heap->objects[other]) == page_of((uintptr_t)found);
        }
        heap->objects[count] = (uintptr_t)found;
        count += !is_known;
    }
    return NULL;
}

static unsigned end_of(uintptr_t object) {
    const uintptr_t end = object + OBJECT_BYTES - page_of(object);
    return end < PAGE_BYTES ? (unsigned)end : PAGE_BYTES;
}

// A pass over the victim's pages, after one over the others.
static double pass(void ***victims, void ***others) {
    link_cells(others, OTHERS);
    link_cells(victims, VICTIMS);
    walk(victims[0], SETTLING * VICTIMS);
    walk(others[0], OTHERS);
    const uint64_t start = now();
    *(void **volatile *)&victims[0] = walk(victims[0], VICTIMS);
    return (double)(now() - start);
}

static double lower_mean(double *ticks) {
    double sum = 0;
    qsort(ticks, ROUNDS, sizeof *ticks, by_value);
    for (unsigned round = 0; round < ROUNDS / 2; round++) {
        sum += ticks[round];
    }
    return sum / (ROUNDS / 2);
}

int main(int count, char **words) {
    static void **victims[VICTIMS], **others[KINDS][OTHERS];
    static double ticks[KINDS][ROUNDS];
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(count > 1 ? atoi(words[1]) : 0, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) {
        return 1;
    }
    for (unsigned kind = 0; kind < KINDS; kind++) {
        pthread_t thread;
        pthread_create(&thread, NULL, allocate, &heaps[kind]);
        pthread_join(thread, NULL);
        memset(lines_used, 0, sizeof lines_used);
        const unsigned first = heaps[kind].count - OTHERS;
        for (unsigned number = 0; number < OTHERS; number++) {
            const uintptr_t object = heaps[kind].objects[first + number];
            others[kind][number] = cell_of(object, end_of(object));
        }
    }
    for (unsigned number = 0; number < VICTIMS; number++) {
        const uintptr_t object = heaps[KINDS - 1].objects[number];
        victims[number] = cell_of(object, end_of(object));
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned kind = 0; kind < KINDS; kind++) {
            ticks[kind][round] = pass(victims, others[kind]);
        }
    }
    for (unsigned kind = 0; kind < KINDS; kind++) {
        printf("%.2f\n", lower_mean(ticks[kind]));
    }
    return 0;
}

// One core walks over 7 pages of each of 16 threads. Each thread allocates objects until they begin
// in 7 pages that no other thread has; then the first thread walks over a line of each page, round
// and round, each access after the one before. Arguments: the CPU, then WAY: `name` names threads
// t0, t1, … as tasks; `plain` does not; `layout` maps the pages that follow as hexadecimal
// addresses instead. It prints ticks per access, the least and the median of all bursts, and the
// pages' addresses.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/runtime/cells.h"

#define THREADS 16
#define PAGES 7
#define CELLS (THREADS * PAGES)
#define OBJECTS 64
#define BURSTS 4000
#define PASSES 24  // per burst: far below a time slice
#define SETTLING 4

static uintptr_t pages[CELLS];  // where an object begins
static unsigned ends[CELLS];    // the first byte in the page after it
static pthread_barrier_t allocated, walked;
static pthread_mutex_t choosing = PTHREAD_MUTEX_INITIALIZER;

// Whether OBJECT begins in a page that no thread has yet; then it is the cell of this NUMBER.
static bool is_new(unsigned number, uintptr_t object) {
    bool is_known = false;
    const uintptr_t end = object + OBJECT_BYTES - page_of(object);
    pthread_mutex_lock(&choosing);
    for (unsigned other = 0; other < CELLS; other++) {
        is_known = is_known || page_of(pages[other]) == page_of(object);
    }
    if (!is_known) {
        pages[number] = object;
        ends[number] = end < PAGE_BYTES ? (unsigned)end : PAGE_BYTES;
    }
    pthread_mutex_unlock(&choosing);
    return !is_known;
}

static void *allocate(void *argument) {
    const unsigned number = (unsigned)(uintptr_t)argument;
    unsigned count = 0;
    for (int object = 0; object < OBJECTS && count < PAGES; object++) {
        char *const found = malloc(OBJECT_BYTES);
        memset(found, 1, OBJECT_BYTES);
        count += is_new(number * PAGES + count, (uintptr_t)found);
    }
    pthread_barrier_wait(&allocated);
    pthread_barrier_wait(&walked);
    return NULL;
}

static void *run_thread(void *argument) {
    char name[16];
    snprintf(name, sizeof name, "t%u", (unsigned)(uintptr_t)argument);
    pthread_setname_np(pthread_self(), name);
    return allocate(argument);
}

static void measure(void) {
    static void **cells[CELLS];
    static double ticks[BURSTS];
    for (unsigned number = 0; number < CELLS; number++) {
        cells[number] = cell_of(pages[number], ends[number]);
    }
    for (unsigned burst = 0; burst < BURSTS; burst++) {
        link_cells(cells, CELLS);
        void **const cell = walk(cells[0], SETTLING * CELLS);
        const uint64_t start = now();
        *(void **volatile *)&cells[0] = walk(cell, PASSES * CELLS);
        ticks[burst] = (double)(now() - start) / (PASSES * CELLS);
    }
    qsort(ticks, BURSTS, sizeof *ticks, by_value);
    printf("%.3f %.3f\n", ticks[0], ticks[BURSTS / 2]);
}

static int map_layout(char **words) {
    for (unsigned number = 0; number < CELLS; number++) {
        const uintptr_t page = strtoul(words[number], NULL, 16);
        void *const found = mmap((void *)page, PAGE_BYTES, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (found != (void *)page) {
            return 1;
        }
        pages[number] = page;
        ends[number] = PAGE_BYTES;
    }
    return 0;
}

int main(int count, char **words) {
    pthread_t threads[THREADS];
    cpu_set_t cpus;
    const bool is_layout = count == 3 + CELLS && strcmp(words[2], "layout") == 0;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(words[1]), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0 || (is_layout && map_layout(words + 3))) {
        return 1;
    }
    pthread_barrier_init(&allocated, NULL, THREADS + 1);
    pthread_barrier_init(&walked, NULL, THREADS + 1);
    for (uintptr_t number = 0; !is_layout && number < THREADS; number++) {
        void *(*const run)(void *) = strcmp(words[2], "name") == 0 ? run_thread : allocate;
        pthread_create(&threads[number], NULL, run, (void *)number);
    }
    if (!is_layout) {
        pthread_barrier_wait(&allocated);
    }
    measure();
    for (unsigned number = 0; number < CELLS; number++) {
        printf("%lx\n", page_of(pages[number]));
    }
    if (!is_layout) {
        pthread_barrier_wait(&walked);
        for (unsigned number = 0; number < THREADS; number++) {
            pthread_join(threads[number], NULL);
        }
    }
    return 0;
}

// An application's tasks as threads, with FIFOs at the addresses that applications know. Each pair
// of ends sees the same two pages, as on one tile.
//
// TAU_TEST_TASKS names the functions, TAU_TEST_FIFOS the number of FIFOs. With arguments, the tasks
// of these numbers start first, one after the other, the rest after them.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "facts/gen/tau_compose_format.h"
#include "kernel/systems/jpeg/tasks/tasks.h"
#include "kernel/systems/pipeline/tasks.h"

enum { HEAD_START_MICROSECONDS = 20000 };

static void (*const tasks[])(void) = {TAU_TEST_TASKS};

enum { TASKS_COUNT = sizeof(tasks) / sizeof(tasks)[0] };

static uint32_t marks[TASKS_COUNT];  // each task's marks so far

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

// A task's marks are for iteration 0, 1, 2, …, start and end in turn.
void tau_system_page_mark(uint32_t task, uint32_t iteration, uint32_t is_end) {
    if (task >= TASKS_COUNT || iteration * 2 + is_end != marks[task]) {
        fail("a mark out of order");
    }
    marks[task]++;
}

void tau_system_page_print(const char *text) {
    fputs(text, stdout);
}

void tau_system_page_print_hex(uint32_t value) {
    printf("%08x", value);
}

static void map_page(int file, uint32_t fifo, uint32_t page, uintptr_t address) {
    const size_t bytes = TAU_COMPOSE_SIZE_FIFO_PAGE_BYTES_MAX;
    void *wanted = (void *)address;
    void *got = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file,
                     (off_t)((2 * fifo + page) * bytes));
    if (got != wanted) {
        fail("the addresses of FIFOs are taken");
    }
}

static void map_fifos(void) {
    const size_t bytes = TAU_COMPOSE_SIZE_FIFO_PAGE_BYTES_MAX;
    const int file = memfd_create("fifos", 0);
    if (file < 0 || ftruncate(file, (off_t)(2 * TAU_TEST_FIFOS * bytes)) != 0) {
        fail("no memory for FIFOs");
    }
    for (uint32_t end = 0; end < 2 * TAU_TEST_FIFOS; end++) {
        const uintptr_t own =
            TAU_COMPOSE_ADDRESS_FIFO + (uintptr_t)TAU_COMPOSE_SIZE_FIFO_STRIDE_BYTES * end;
        map_page(file, end / 2, end % 2, own);
        map_page(file, end / 2, 1 - end % 2, own + bytes);
    }
}

static void *run(void *task) {
    (*(void (*const *)(void))task)();
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[TASKS_COUNT];
    int is_started[TASKS_COUNT] = {0};
    map_fifos();
    for (int i = 1; i < argc + TASKS_COUNT; i++) {
        const int task = i < argc ? atoi(argv[i]) : i - argc;
        if (is_started[task]) {
            continue;
        }
        is_started[task] = 1;
        if (pthread_create(&threads[task], NULL, run, (void *)&tasks[task]) != 0) {
            fail("no thread");
        }
        usleep(i < argc ? HEAD_START_MICROSECONDS : 0);
    }
    for (int task = 0; task < TASKS_COUNT; task++) {
        pthread_join(threads[task], NULL);
    }
    for (int task = 0; task < TASKS_COUNT; task++) {
        printf("task %d: %u iterations\n", task, marks[task] / 2);
    }
    return 0;
}

// A handler allocates at each instruction of calloc in turn: the object is clear all the same.
//
//     runtime_stepped OBJECT_BYTES HANDLER_BYTES keep|free [beside]
//
// The memory was written before. The trap flag of x86-64 makes a signal after each instruction. The
// handler keeps or frees what it makes. With a fourth argument there was a second thread.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 4000

static volatile long step, wanted_step;
static size_t handler_bytes;
static int is_kept;
static void *kept[STEPS_MAX];

static void at_step(int number) {
    (void)number;
    const int error = errno;
    if (step++ == wanted_step) {
        void *const object = malloc(handler_bytes);
        if (is_kept) {
            kept[wanted_step] = object;
        } else {
            free(object);
        }
    }
    errno = error;
}

static inline void trap(int is_on) {
    if (is_on) {
        __asm__ volatile("pushfq; orl $0x100, (%%rsp); popfq" ::: "memory", "cc");
    } else {
        __asm__ volatile("pushfq; andl $~0x100, (%%rsp); popfq" ::: "memory", "cc");
    }
}

static void *nothing(void *argument) {
    return argument;
}

int main(int count, char **words) {
    (void)count;
    const size_t bytes = strtoul(words[1], NULL, 0);
    handler_bytes = strtoul(words[2], NULL, 0);
    is_kept = strcmp(words[3], "keep") == 0;
    const struct sigaction action = {.sa_handler = at_step};
    pthread_t thread;
    if (sigaction(SIGTRAP, &action, NULL) != 0 ||
        (words[4] != NULL && pthread_create(&thread, NULL, nothing, NULL) != 0)) {
        return 2;
    }
    long steps = STEPS_MAX;
    for (wanted_step = 0; wanted_step < steps && wanted_step < STEPS_MAX; wanted_step++) {
        unsigned char *const written = malloc(bytes);
        memset(written, 0xab, bytes);
        free(written);
        step = 0;
        trap(1);
        unsigned char *const object = calloc(1, bytes);
        trap(0);
        steps = step;
        for (size_t place = 0; place < bytes; place++) {
            if (object[place] != 0) {
                printf("a handler at step %ld of %ld: byte %zu\n", wanted_step, steps, place);
                return 1;
            }
        }
        free(object);
    }
    puts(steps < STEPS_MAX ? "clear" : "too many steps");
    return 0;
}

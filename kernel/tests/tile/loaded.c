// An application that checks how it was loaded: its memory is clear, its tasks run in their major
// frames only, its pool hands out all its frames, and an error ends only the task that caused it.
// Its memory is not clear when it ends.
#include "kernel/base/application.h"
#include "kernel/base/base.h"

enum { WORDS = 1024, STEP_WORDS = 16, POOL = 0x80400000 };
enum { PAGE_WORDS = TAU_COMPOSE_SIZE_PAGE_BYTES_MIN / 4 };
enum { MAIN, GREEDY, BAD, JUMP, BEYOND };

static volatile uint32_t memory[WORDS];
// Loaded with the image, which ends inside the second page of the data.
static volatile uint32_t filled[WORDS + STEP_WORDS] = {1};

static void expect_clear(volatile uint32_t *words, uint32_t count) {
    for (uint32_t i = 0; i < count; i += STEP_WORDS) {
        if (words[i] != 0) {
            tau_base_print("dirty\n");
            return;
        }
    }
}

static void stain(volatile uint32_t *words, uint32_t count) {
    for (uint32_t i = 0; i < count; i += STEP_WORDS) {
        words[i] = 0xDEADDEAD;
    }
}

static void wait(void) {
    __asm__ volatile("li a7, 1\n ecall" ::: "a7", "memory");
}

// A mark in each slot.
void main_task(void) {
    volatile uint32_t *fifo = (volatile uint32_t *)TAU_COMPOSE_ADDRESS_FIFO;
    if (filled[0] != 1) {
        tau_base_print("not loaded\n");
    }
    expect_clear(filled + 1, WORDS + STEP_WORDS - 1);
    expect_clear(memory, WORDS);
    expect_clear(fifo, PAGE_WORDS);
    tau_base_print("begins\n");
    stain(filled, WORDS + STEP_WORDS);
    stain(memory, WORDS);
    stain(fifo, PAGE_WORDS);
    for (uint32_t i = 0;; i++) {
        tau_system_page_mark(MAIN, i, 0);
        wait();
    }
}

// A mark for each page of the pool; there are more than frames.
void greedy(void) {
    wait();
    for (uint32_t i = 0; i < POOL_PAGES; i++) {
        volatile uint32_t *words = (volatile uint32_t *)POOL + PAGE_WORDS * i;
        expect_clear(words, PAGE_WORDS);
        stain(words, PAGE_WORDS);
        tau_system_page_mark(GREEDY, i, 0);
    }
}

void bad(void) {
    tau_system_page_mark(BAD, 0, 0);
    __asm__ volatile("li a7, 77\n ecall" ::: "a7", "memory");
    tau_system_page_mark(BAD, 1, 0);
}

// A page of the pool that is there and may not be executed.
void jump(void) {
    ((volatile uint32_t *)POOL)[1] = 1;
    tau_system_page_mark(JUMP, 0, 0);
    ((void (*)(void))POOL)();
    tau_system_page_mark(JUMP, 1, 0);
}

// The page after the pool's last one.
void beyond(void) {
    tau_system_page_mark(BEYOND, 0, 0);
    ((volatile uint32_t *)POOL)[POOL_PAGES * PAGE_WORDS] = 1;
    tau_system_page_mark(BEYOND, 1, 0);
}

TAU_TASK(main_task, 512);
TAU_TASK(greedy, 512);
TAU_TASK(bad, 512);
TAU_TASK(jump, 512);
TAU_TASK(beyond, 512);
TAU_APPLICATION(5, TAU_TASK_OF(main_task), TAU_TASK_OF(greedy), TAU_TASK_OF(bad), TAU_TASK_OF(jump),
                TAU_TASK_OF(beyond));

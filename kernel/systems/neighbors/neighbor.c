// A neighbor that does what could disturb others, at random: divisions, misses, stores across
// pages, jumps over pages, kernel calls, sleep. It fills its memory with its key, by which a check
// knows it where it does not belong. In the end it tries to reach what it may not (probe.h).
//
// Two loads of it do different things: the seed has the time in it.
#include "kernel/base/application.h"
#include "kernel/base/base.h"

#ifndef TAU_NEIGHBOR_SEED
#define TAU_NEIGHBOR_SEED 1u
#endif
#ifndef TAU_NEIGHBOR_KEY
#define TAU_NEIGHBOR_KEY 0xC3A55A3Cu
#endif
#define TAU_NEIGHBOR_CSR ((TAU_NEIGHBOR_SEED * 2654435761u) >> 20)

#include "kernel/systems/neighbors/probe.h"

enum { PAGE_WORDS = 256, PAGES = 12, ACTIONS_LEAST = 100, ACTIONS_MORE = 4000, STACK_WORDS = 64 };
enum { FILL_STRIDE_WORDS = 16 };

static volatile uint32_t memory[PAGES * PAGE_WORDS];

static uint32_t next(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void divide(uint32_t chance) {
    volatile uint32_t value = chance | 1;
    for (uint32_t i = 0; i < 20; i++) {
        value = 0xFFFFFFFF / (value | 1);
    }
}

static void miss(uint32_t chance) {
    for (uint32_t i = 0; i < PAGES; i++) {
        memory[(i * 5 + chance) % PAGES * PAGE_WORDS] += i;
    }
}

static void cross(uint32_t chance) {
    const uintptr_t border = (uintptr_t)memory + 4 * PAGE_WORDS * (1 + chance % (PAGES - 1));
    *(volatile uint32_t *)(border - 2) = chance;
}

static void call(void) {
    __asm__ volatile("li a7, 1\n ecall" ::: "a7", "memory");
}

static void fill(volatile uint32_t *words, uint32_t count) {
    for (uint32_t i = 0; i < count; i += FILL_STRIDE_WORDS) {
        words[i] = TAU_NEIGHBOR_KEY;
    }
}

__attribute__((noinline)) static void fill_all(void) {
    volatile uint32_t stack[STACK_WORDS];
    fill(stack, STACK_WORDS);
    fill(memory, PAGES * PAGE_WORDS);
#ifdef TAU_NEIGHBOR_FIFO
    fill((volatile uint32_t *)TAU_COMPOSE_ADDRESS_FIFO, PAGE_WORDS);
#endif
}

static void probe(uint32_t chance) {
    extern uint8_t code[] __asm__("neighbor");
    static const struct probe_place PLACES[] = {
        {TAU_TILE_ADDRESS_WINDOW, 256, PROBE_ANY},
        {TAU_COMPOSE_ADDRESS_SYSTEM, 8, PROBE_FETCH},
        {TAU_COMPOSE_ADDRESS_SYSTEM + 0x400, 2048, PROBE_ANY},
        {TAU_COMPOSE_ADDRESS_BASE, 64, PROBE_LOAD | PROBE_STORE},
        {TAU_COMPOSE_ADDRESS_FIFO + 14 * TAU_COMPOSE_SIZE_FIFO_STRIDE_BYTES, 8192, PROBE_ANY},
        {TAU_COMPOSE_ADDRESS_DMA, 2048, PROBE_ANY},
        {TAU_COMPOSE_ADDRESS_APPLICATION, 0x40000, PROBE_ANY},  // others are linked there
        {0x90000000, 0x8000000, PROBE_ANY},
        {(uintptr_t)code, 16, PROBE_STORE},
        {(uintptr_t)memory, PAGES * PAGE_WORDS, PROBE_FETCH},
        {(uintptr_t)memory + 0x4000, 256, PROBE_ANY},
        {TAU_TILE_ADDRESS_DEVICE, 256, PROBE_ANY},
        {TAU_TILE_ADDRESS_UNIT, 256, PROBE_ANY},
        {TAU_TILE_ADDRESS_MEMORY_TILE, 0x10000, PROBE_ANY},
        {TAU_TILE_ADDRESS_INSTR, 0x20000, PROBE_ANY},
        {TAU_TILE_ADDRESS_DATA, 0x20000, PROBE_ANY},
        {TAU_TILE_ADDRESS_TABLE0, 0x800, PROBE_ANY},
        {TAU_TILE_ADDRESS_PLAIN, 0x1000, PROBE_ANY},
        {TAU_TILE_ADDRESS_LINKS, 0x1000, PROBE_ANY},
        {TAU_TILE_ADDRESS_FRAMES, 0x40000, PROBE_ANY},
        {0, 0x400, PROBE_ANY},
        {0xFFFFFC00, 0x100, PROBE_ANY},
    };
    enum { COUNT = sizeof PLACES / sizeof PLACES[0] };
    const uint32_t which = (chance >> 4) % (COUNT + COUNT / 2);
    tau_system_page_mark(0, which, 0);
    if (which < COUNT) {
        probe_access(&PLACES[which], chance >> 2);
    } else {
        probe_instruction(chance >> 16);
    }
}

static void act(uint32_t chance) {
    switch (chance % 8) {
    case 0:
    case 1:
        divide(chance >> 3);
        break;
    case 2:
    case 3:
        miss(chance >> 3);
        break;
    case 4:
        cross(chance >> 3);
        break;
    case 5:
        __asm__ volatile(".word 0x0000100f");  // fence.i
        break;
    case 6:
        if (chance >> 28 == 0) {
            call();
        }
        break;
    default:
        if (chance >> 29 == 0) {
            __asm__ volatile("wfi");
        }
    }
}

__attribute__((used)) static void run(const uint32_t *registers) {
    probe_registers(registers);
    fill_all();
    uint32_t state = TAU_NEIGHBOR_SEED ^ (uint32_t)tau_base_time() ^ 0x9E3779B9;
    // One of eight probes at once.
    const uint32_t actions_more = ACTIONS_MORE >> next(&state) % 4;
    const uint32_t actions =
        next(&state) % 8 == 0 ? 0 : ACTIONS_LEAST + next(&state) % actions_more;
    for (uint32_t i = 0; i < actions; i++) {
        act(next(&state));
    }
    for (;;) {  // bound: a probe ends the task
        probe(next(&state));
    }
}

// Keeps the registers that the kernel gave it.
__attribute__((naked)) void neighbor(void) {
    __asm__ volatile("addi sp, sp, -128\n"
                     ".irp r,5,6,7,8,9,10,11,12,13,14,15,16,17,18\n"
                     "sw x\\r, 4 * \\r(sp)\n"
                     ".endr\n"
                     ".irp r,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
                     "sw x\\r, 4 * \\r(sp)\n"
                     ".endr\n"
                     "mv a0, sp\n"
                     "j run");
}

TAU_TASK(neighbor, 1024);
TAU_APPLICATION(1, TAU_TASK_OF(neighbor));

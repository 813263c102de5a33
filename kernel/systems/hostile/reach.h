// Stores, loads and jumps to addresses that are not the application's: eight addresses of each
// kind, one for each task.
#ifndef TAU_HOSTILE_REACH_H
#define TAU_HOSTILE_REACH_H

#include <stdint.h>

#include "facts/gen/tau_compose_format.h"
#include "facts/gen/tau_tile_format.h"

enum { HOSTILE_PAGE_WORDS = 256, HOSTILE_PAGES = 6, HOSTILE_POOL = 0x80800000 };

static volatile uint32_t hostile_pages[HOSTILE_PAGES * HOSTILE_PAGE_WORDS]
    __attribute__((aligned(1024)));

// Own code, others' pages, base code, what no table has.
static const uint32_t WINDOW[] = {
    TAU_TILE_ADDRESS_WINDOW,
    TAU_COMPOSE_ADDRESS_BASE,
    TAU_COMPOSE_ADDRESS_FIFO,
    TAU_COMPOSE_ADDRESS_DMA,
    TAU_COMPOSE_ADDRESS_APPLICATION,
    TAU_COMPOSE_ADDRESS_APPLICATION + 0x400,
    TAU_COMPOSE_ADDRESS_SYSTEM + 0x400,
    TAU_TILE_ADDRESS_FRAMES - 4,
};

static const uint32_t DEVICES[] = {
    TAU_TILE_ADDRESS_DEVICE + TAU_TILE_REGISTER_EXIT,
    TAU_TILE_ADDRESS_DEVICE + TAU_TILE_REGISTER_TIMER_COMPARE,
    TAU_TILE_ADDRESS_DEVICE + TAU_TILE_REGISTER_NEXT,
    TAU_TILE_ADDRESS_DEVICE + TAU_TILE_REGISTER_OWNER,
    TAU_TILE_ADDRESS_DEVICE + TAU_TILE_REGISTER_DMA,
    TAU_TILE_ADDRESS_UNIT,
    TAU_TILE_ADDRESS_LINKS,
    TAU_TILE_ADDRESS_MEMORY_TILE,
};

static const uint32_t MEMORY[] = {
    TAU_TILE_ADDRESS_INSTR,
    TAU_TILE_ADDRESS_DATA,
    TAU_TILE_ADDRESS_TABLE0,
    TAU_TILE_ADDRESS_TABLE1,
    TAU_TILE_ADDRESS_PLAIN,
    TAU_TILE_ADDRESS_FRAMES,
    TAU_TILE_ADDRESS_FRAMES + 1024 * TAU_TILE_SIZE_COMMUNICATION_FRAMES,
    0xFFFFFFFC,
};

#define HOSTILE_REACH(name, addresses)                                                             \
    static inline void store_##name(uint32_t task, uint32_t turn) {                                \
        *(volatile uint32_t *)(uintptr_t)addresses[task] = turn + 1;                               \
    }                                                                                              \
    static inline void load_##name(uint32_t task, uint32_t turn) {                                 \
        hostile_pages[turn % 2] = *(volatile uint32_t *)(uintptr_t)addresses[task];                \
    }                                                                                              \
    static inline void jump_##name(uint32_t task, uint32_t turn) {                                 \
        (void)turn;                                                                                \
        ((void (*)(void))(uintptr_t)addresses[task])();                                            \
    }

HOSTILE_REACH(window, WINDOW)
HOSTILE_REACH(devices, DEVICES)
HOSTILE_REACH(memory, MEMORY)

#endif

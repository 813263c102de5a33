// What testing/sv39/unmap_cost.py calls in addition to the port: pools, spaces and regions with
// many pages, made at the emulator's speed. Frames of pages have no memory: their pool is reserved
// and never looks at them.
#include <stddef.h>

#include "core/ports/sv39.h"

struct measure {
    struct tau_frames tables;
    struct tau_frames frames;
    struct tau_sv39 spaces[2];
};

static struct measure measure;

struct tau_sv39 *measure_space(uint32_t number);
int measure_start(uint32_t tables, uint32_t frames, uint32_t *links, unsigned char *memory,
                  struct tau_sv39_table *records);
uint32_t measure_map(struct tau_sv39 *space, uint32_t start, uint32_t pages, uint32_t step);
void measure_clean(uint32_t count);

// Not a call of memset by another name: the emulator has no C library.
void *memset(void *to, int value, size_t size_bytes) {
    uint64_t *words = to;
    for (size_t i = 0; i < size_bytes / sizeof *words; i++) {
        __asm__ volatile("" : : : "memory");
        words[i] = (uint64_t)(unsigned char)value * UINT64_C(0x0101010101010101);
    }
    return to;
}

struct tau_sv39 *measure_space(uint32_t number) {
    return &measure.spaces[number];
}

// Two spaces over TABLES table pages, with memory at MEMORY, and FRAMES frames after them.
int measure_start(uint32_t tables, uint32_t frames, uint32_t *links, unsigned char *memory,
                  struct tau_sv39_table *records) {
    int wrong = (int)tau_frames_init(&measure.tables, links, tables + frames, memory);
    measure.frames = measure.tables;
    measure.frames.memory = NULL;
    measure.frames.released = &measure.frames.dirty;
    measure.tables.released = &measure.tables.dirty;
    wrong |= (int)tau_frames_add(&measure.tables, (struct tau_frame){0}, tables);
    wrong |= (int)tau_frames_add(&measure.frames, (struct tau_frame){tables}, frames);
    measure.frames.ready = measure.frames.dirty;
    measure.frames.dirty.count = 0;
    measure.frames.released = &measure.frames.ready;
    for (uint32_t i = 0; i < 2; i++) {
        wrong |= (int)tau_sv39_init(&measure.spaces[i], &measure.frames, &measure.tables, records,
                                    0x80000, i + 1);
    }
    return wrong;
}

// Makes a region and maps every STEP-th page of it; says how many are mapped, 0 if anything failed.
uint32_t measure_map(struct tau_sv39 *space, uint32_t start, uint32_t pages, uint32_t step) {
    uint32_t mapped = 0;
    if (tau_sv39_map_region(space, (struct tau_page){start}, pages, TAU_READ | TAU_WRITE) !=
        TAU_OK) {
        return 0;
    }
    for (uint32_t page = 0; page < pages; page += step) {
        if (tau_sv39_map_page(space, (struct tau_page){start + page}, TAU_WRITE) != TAU_OK) {
            return 0;
        }
        mapped++;
    }
    return mapped;
}

// Zeroes up to COUNT table pages, as an idle loop would.
void measure_clean(uint32_t count) {
    while (count-- > 0 && tau_frames_clean_one(&measure.tables)) {
    }
}

// A real-time application that is quick to simulate: it walks over its memory, iteration by
// iteration, and marks each. It prints a word that somebody else changed, and the checksum of its
// memory.
#include "kernel/base/application.h"
#include "kernel/base/base.h"

#ifndef TAU_METRONOME_PAGES
#define TAU_METRONOME_PAGES 6u
#endif

enum { PAGE_WORDS = 256, WORDS_PER_PAGE = 4, STRIDE_WORDS = PAGE_WORDS / WORDS_PER_PAGE };

static volatile uint32_t memory[TAU_METRONOME_PAGES * PAGE_WORDS];

static uint32_t canary(uint32_t place, uint32_t iteration) {
    return iteration == 0 ? 0 : (place << 16 | 0xCAFE) + iteration;
}

void metronome(void) {
    for (uint32_t iteration = 0;; iteration++) {
        uint32_t damaged = 0;
        tau_system_page_mark(0, iteration, 0);
        for (uint32_t place = 0; place < TAU_METRONOME_PAGES * PAGE_WORDS; place += STRIDE_WORDS) {
            damaged += memory[place] != canary(place, iteration);
            memory[place] = canary(place, iteration + 1);
        }
        tau_system_page_mark(0, iteration, 1);
        tau_base_print(damaged != 0 ? "damaged\n" : "whole\n");
    }
}

TAU_TASK(metronome, 512);
TAU_APPLICATION(1, TAU_TASK_OF(metronome));

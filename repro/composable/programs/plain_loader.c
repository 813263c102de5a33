// The loader of a system without virtual memory: it checks the executable as ours does, copies each
// segment to where that lies, and clears the rest of its memory, with the kernel's own loops. It
// prints the cycles.
#include "kernel/slots/executable.h"
#include "kernel/copy_words.h"
#include "targets/tile/tile.h"

static struct tau_executable executable;

static uint32_t cycle(void) {
    uint32_t now;
    __asm__ volatile("csrr %0, mcycle" : "=r"(now) : : "memory");
    return now;
}

static volatile uint32_t *place_of(uint32_t address) {
    const uint32_t offset_bytes = address - TAU_COMPOSE_ADDRESS_APPLICATION;
    return (volatile uint32_t *)(TAU_TILE_ADDRESS_FRAMES + offset_bytes);
}

int main(void) {
    const volatile uint32_t *image = (const volatile uint32_t *)TAU_TILE_ADDRESS_MEMORY_TILE;
    static const uint32_t hash[] = {TAU_BASE_HASH};
    const uint32_t before = cycle();
    const char *wrong = tau_executable_read(&executable, image, TAU_IMAGE_BYTES, hash);
    if (wrong != 0) {
        tau_tile_print(wrong);
        return 1;
    }
    for (uint32_t i = 0; i < executable.segments_count; i++) {
        const struct tau_segment *segment = &executable.segments[i];
        volatile uint32_t *words = place_of(segment->address);
        const uint32_t filled = (segment->file_bytes + 3) / 4;
        tau_words_copy(words, image + segment->file_offset / 4, filled);
        tau_words_clear(words + filled, (segment->memory_bytes + 3) / 4 - filled);
    }
    tau_tile_print_number(cycle() - before);
    return 0;
}

// Runs a script on a workstation, with sanitizers. Loads and stores go through check_sv39_physical.
// The physical memory starts at its own address, so that no pointer passes for a physical address.
// Usage: host_sv39 SCRIPT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tests/ports/check_sv39.h"
#include "core/tests/ports/script_sv39.h"

#define PHYSICAL_FIRST UINT64_C(0x90000)

static unsigned char *frames_memory;

enum machine_outcome machine_try(const struct tau_sv39 *space, uint64_t address, uint32_t access,
                                 uint64_t *value) {
    const uint64_t physical = check_sv39_physical(space, address, access);
    if (physical == 0) {
        return MACHINE_FAULT;
    }
    unsigned char *where = frames_memory + (physical - (PHYSICAL_FIRST << 12));
    if (access == TAU_WRITE) {
        memcpy(where, value, sizeof *value);
        return MACHINE_DONE;
    }
    memcpy(value, where, sizeof *value);
    return access == TAU_READ || *value == 0 ? MACHINE_DONE : MACHINE_WRONG;
}

void machine_made(struct tau_sv39 *space) {
    (void)space;
}

void machine_gone(struct tau_sv39 *space) {
    (void)space;
}

void machine_put_code(unsigned char *page) {
    memset(page, 0xc0, 16);
}

void machine_say(const char *text) {
    fputs(text, stdout);
}

uint64_t machine_instructions(void) {
    return 0;
}

int main(int count, char **arguments) {
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fputs("usage: host_sv39 SCRIPT\n", stderr);
        return 2;
    }
    const size_t size = (size_t)ftell(file);
    struct script *script = malloc(size);
    rewind(file);
    const size_t got = fread(script, 1, size, file);
    fclose(file);
    const size_t frames = script->frames_count + script->tables_count;
    frames_memory = aligned_alloc(4096, frames * 4096);
    struct machine_memory memory = {.frames = frames_memory,
                                    .physical_first = PHYSICAL_FIRST,
                                    .links = malloc(frames * sizeof(uint32_t)),
                                    .records = malloc(frames * sizeof(struct tau_sv39_table)),
                                    .marks = malloc(frames)};
    memset(frames_memory, 0xa5, frames * 4096);
    memset(memory.records, 0x5a, frames * sizeof(struct tau_sv39_table));
    const int result = got == size ? script_run(script, &memory) : 2;
    free(memory.marks);
    free(memory.records);
    free(memory.links);
    free(frames_memory);
    free(script);
    return result;
}

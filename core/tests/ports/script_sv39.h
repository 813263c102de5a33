// A script of operations on Sv39 spaces, each with what the model says of it (script_sv39.py), and
// the program that carries it out. What a machine provides, a workstation's walker or a real MMU,
// is behind machine_*.
#ifndef TAU_SCRIPT_SV39_H
#define TAU_SCRIPT_SV39_H

#include "core/ports/sv39.h"

#define SCRIPT_MAGIC 0x39337653u
#define SCRIPT_SPACES_MAX 8u
#define SCRIPT_FRAMES_MAX 32768u
#define SCRIPT_CODE_PAGE 16u   // in every space: the program whose loads and stores are real
#define SCRIPT_STORE_BYTES 8u  // where in that page storing starts; loading starts at 0

struct script {
    uint32_t magic;
    uint32_t spaces_count;
    uint32_t frames_count;
    uint32_t tables_count;  // 0: tables come from the pages' pool
    uint32_t operations_count;
    uint32_t reserved;
};

enum script_code {
    SCRIPT_MAP_REGION,
    SCRIPT_UNMAP_REGION,
    SCRIPT_UNMAP_LINEAR,
    SCRIPT_LOAD,
    SCRIPT_STORE,
    SCRIPT_FETCH,
    SCRIPT_MAP_PAGE,
    SCRIPT_COUNTS,  // mapped pages of the space, free pages, free table pages
    SCRIPT_CLEAN,
    SCRIPT_WALK,
    SCRIPT_CLOSE,
    SCRIPT_INIT,
};

struct script_operation {
    uint8_t code;
    uint8_t space;
    uint8_t rights;    // TAU_RIGHTS, moved to bit 0; with SCRIPT_FAULTS
    uint8_t expected;  // an enum tau_status
    uint32_t page;     // for an access: the address's bits 12 … 43, extended by its sign
    uint32_t pages;    // for an access: the offset in bytes
    uint32_t extra;    // for SCRIPT_COUNTS: free table pages
    uint64_t value;
};

#define SCRIPT_FAULTS 128u  // the access must fault

enum machine_outcome { MACHINE_DONE, MACHINE_FAULT, MACHINE_WRONG };

// One load, store or fetch of user code in SPACE, as the hardware does it; a fetch is done if it
// brings the word 0, which is not an instruction.
enum machine_outcome machine_try(const struct tau_sv39 *space, uint64_t address, uint32_t access,
                                 uint64_t *value);

// Before SPACE is used first, and before it is given back.
void machine_made(struct tau_sv39 *space);
void machine_gone(struct tau_sv39 *space);

// The two programs of SCRIPT_CODE_PAGE, put at PAGE as the core sees it.
void machine_put_code(unsigned char *page);

void machine_say(const char *text);

// Instructions executed so far; 0 always where they are not counted.
uint64_t machine_instructions(void);

// Memory for the frames, with the physical page number of its first byte, and for the tables of it.
struct machine_memory {
    unsigned char *frames;
    uint64_t physical_first;
    uint32_t *links;
    struct tau_sv39_table *records;
    unsigned char *marks;
};

// Runs SCRIPT; returns 0 if everything was as expected, else prints the difference. At the end it
// prints the number of operations and faults, and the most instructions of a
// tau_sv39_unmap_region.
int script_run(const struct script *script, const struct machine_memory *memory);

#endif

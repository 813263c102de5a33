// Full walk over spaces on Sv39 tables, for tests, and the translation as the architecture has it.
#ifndef TAU_CHECK_SV39_H
#define TAU_CHECK_SV39_H

#include "core/ports/sv39.h"

// Input of the walk. The two pools (or the one) were given FRAMES_COUNT frames together; MARKS has
// one byte for each frame of the table.
struct check_sv39_machine {
    struct tau_sv39 *const *spaces;
    uint32_t spaces_count;
    uint32_t frames_count;
    unsigned char *marks;
};

// 0, or the number of the first broken invariant of docs/spec/sv39.md. Cost: every table, chain and
// list, and the bytes of every ready table page.
int check_sv39(const struct check_sv39_machine *machine);

// What a load, store or fetch of user code at ADDRESS meets in the tables of SPACE, by the steps of
// the RISC-V privileged specification 1.12, 4.3.2 and 4.4, and not by the port's code: the physical
// address, or 0 for a page fault. ACCESS is TAU_READ, _WRITE or _EXECUTE.
uint64_t check_sv39_physical(const struct tau_sv39 *space, uint64_t address, uint32_t access);

#endif

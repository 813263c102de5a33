#include "core/tests/ports/check_sv39.h"

#include <stddef.h>

#define V 1u
#define R 2u
#define W 4u
#define X 8u
#define U 16u
#define A 64u
#define D 128u
#define OWN 256u
#define FLAGS 1023u

enum { FREE_MARK = 1, TABLE_MARK = 2, LEAF_MARK = 4, CHAIN_MARK = 8 };

static uint64_t *table_of(const struct tau_sv39 *space, uint32_t frame) {
    return (uint64_t *)(void *)(space->tables->memory + (size_t)frame * 4096);
}

uint64_t check_sv39_physical(const struct tau_sv39 *space, uint64_t address, uint32_t access) {
    const uint64_t sign = address >> 38;
    if (sign != 0 && sign != 0x3ffffff) {
        return 0;
    }
    uint64_t number = tau_sv39_satp(space) & ((UINT64_C(1) << 44) - 1);
    for (unsigned level = 2;; level--) {
        const uint64_t *table = table_of(space, (uint32_t)(number - space->physical_first));
        const uint64_t entry = table[address >> (12 + 9 * level) & 511];
        const uint64_t wanted = access == TAU_READ ? R : access == TAU_WRITE ? W : X;
        if ((entry & V) == 0 || (entry & (R | W)) == W || entry >> 54 != 0) {
            return 0;
        }
        number = entry >> 10;
        if ((entry & (R | X)) == 0) {
            if (level == 0 || (entry & (U | A | D)) != 0) {
                return 0;
            }
            continue;
        }
        const uint64_t below = (UINT64_C(1) << (12 + 9 * level)) - 1;
        if ((entry & wanted) == 0 || (entry & U) == 0 || (entry & A) == 0 ||
            (access == TAU_WRITE && (entry & D) == 0) || (number << 12 & below) != 0) {
            return 0;
        }
        return (number << 12) | (address & below);
    }
}

// Sets MARK on the frame that ENTRY leads to; false if it is none of the machine's or marked.
static int mark(const struct check_sv39_machine *machine, const struct tau_sv39 *space,
                uint64_t entry, unsigned char kind) {
    const uint64_t frame = (entry >> 10) - space->physical_first;
    if (frame >= space->tables->frames_count || machine->marks[frame] != 0) {
        return 0;
    }
    machine->marks[frame] = kind;
    return 1;
}

// Whether the COUNT frames chained from NEWEST to OLDEST all have the mark KIND and no chain's yet.
static int chain(const struct check_sv39_machine *machine, const struct tau_sv39 *space,
                 uint32_t newest, uint32_t oldest, uint32_t count, unsigned char kind) {
    uint32_t frame = newest;
    for (uint32_t i = 0; i < count; i++) {
        if (frame >= space->tables->frames_count || machine->marks[frame] != kind ||
            (frame == oldest) != (i + 1 == count)) {
            return 0;
        }
        machine->marks[frame] |= CHAIN_MARK;
        frame = space->tables->links[frame];
    }
    return 1;
}

// The leaves of a level-0 table whose first page is FIRST; adds them to COUNT.
static int leaves(const struct check_sv39_machine *machine, const struct tau_sv39 *space,
                  const struct tau_sv39_table *record, uint64_t above, uint32_t first,
                  uint32_t *count) {
    const uint64_t *table = table_of(space, (uint32_t)((above >> 10) - space->physical_first));
    for (uint32_t i = 0; i < 512; i++) {
        if (table[i] == 0) {
            continue;
        }
        if (first + i < record->start || first + i - record->start >= record->pages) {
            return 5;
        }
        if ((table[i] & FLAGS) != record->flags || !mark(machine, space, table[i], LEAF_MARK)) {
            return 6;
        }
        ++*count;
    }
    return 0;
}

// A region that hangs from ENTRY, whose slot has SLOT_PAGES pages from FIRST on.
static int region(const struct check_sv39_machine *machine, const struct tau_sv39 *space,
                  uint64_t entry, uint32_t first, uint32_t slot_pages) {
    const uint32_t own = (uint32_t)((entry >> 10) - space->physical_first);
    const struct tau_sv39_table *record = &space->records[own];
    uint32_t mapped = 0;
    uint32_t tables = 1;
    if ((entry & FLAGS) != (V | OWN) || !mark(machine, space, entry, TABLE_MARK)) {
        return 2;
    }
    const uint32_t last = record->start + record->pages - 1;
    const int is_small = record->start / 512 == last / 512;
    if (record->pages == 0 || record->start < first || last >= first + slot_pages ||
        last < record->start || is_small != (slot_pages == 512) || record->start == 0) {
        return 4;
    }
    const uint32_t rights = record->flags & (R | W | X);
    if ((record->flags & ~(R | W | X)) != (V | U | A | D) || (rights & (R | X)) == 0 ||
        (rights & (R | W)) == W) {
        return 6;
    }
    if (is_small) {
        const int broken = leaves(machine, space, record, entry, first, &mapped);
        if (broken != 0) {
            return broken;
        }
    }
    const uint64_t *table = table_of(space, own);
    for (uint32_t i = 0; !is_small && i < 512; i++) {
        if (table[i] == 0) {
            continue;
        }
        if ((table[i] & FLAGS) != V || !mark(machine, space, table[i], TABLE_MARK)) {
            return 7;
        }
        const uint32_t before = mapped;
        const int broken = leaves(machine, space, record, table[i], first + i * 512, &mapped);
        if (broken != 0 || mapped == before) {
            return broken != 0 ? broken : 7;
        }
        tables++;
    }
    if (mapped != record->used || tables != record->tables_count) {
        return 8;
    }
    return chain(machine, space, record->newest, record->oldest, mapped, LEAF_MARK) &&
                   chain(machine, space, record->tables_newest, own, tables, TABLE_MARK)
               ? 0
               : 9;
}

static int space_walk(const struct check_sv39_machine *machine, const struct tau_sv39 *space) {
    const uint64_t root = tau_sv39_satp(space) << 10;  // as an entry; the bits above go
    uint32_t own_count = 0;
    uint32_t mapped = 0;
    if (!mark(machine, space, root & ((UINT64_C(1) << 54) - 1), TABLE_MARK)) {
        return 1;
    }
    for (uint32_t i = 0; i < 256; i++) {
        const uint64_t entry = space->root[i];
        if (entry == 0) {
            continue;
        }
        const uint32_t number = (uint32_t)((entry >> 10) - space->physical_first);
        if ((entry & OWN) != 0) {
            const int broken = region(machine, space, entry, i << 18, 1u << 18);
            if (broken != 0) {
                return broken;
            }
            own_count++;
            mapped += space->records[number].used;
            continue;
        }
        if ((entry & FLAGS) != V || !mark(machine, space, entry, TABLE_MARK)) {
            return 1;
        }
        const uint64_t *shared = table_of(space, number);
        uint32_t used = 0;
        for (uint32_t j = 0; j < 512; j++) {
            if (shared[j] != 0) {
                const uint32_t first = (i << 18) + (j << 9);
                const int broken = region(machine, space, shared[j], first, 512);
                if (broken != 0) {
                    return broken;
                }
                used++;
                mapped += space->records[(shared[j] >> 10) - space->physical_first].used;
            }
        }
        if (space->records[number].pages != 0 || space->records[number].used != used) {
            return 3;
        }
    }
    const size_t root_frame = (size_t)((unsigned char *)space->root - space->tables->memory) / 4096;
    if (space->records[root_frame].used != own_count || space->mapped_pages != mapped) {
        return 3;
    }
    return 0;
}

// One list of a pool: no frame of it is in use; adds its length to COUNT.
static int list(const struct check_sv39_machine *machine, const struct tau_frames *pool,
                const struct tau_frame_list *frames, int is_zero, uint32_t *count) {
    uint32_t frame = frames->head;
    for (uint32_t i = 0; i < frames->count; i++) {
        if (frame >= pool->frames_count || machine->marks[frame] != 0) {
            return 10;
        }
        machine->marks[frame] = FREE_MARK;
        const uint64_t *words = (const uint64_t *)(void *)(pool->memory + (size_t)frame * 4096);
        for (uint32_t j = 0; is_zero && j < 512; j++) {
            if (words[j] != 0) {
                return 12;
            }
        }
        frame = pool->links[frame];
        ++*count;
    }
    return 0;
}

static int pool_walk(const struct check_sv39_machine *machine, const struct tau_frames *pool,
                     uint32_t *count) {
    const int is_zeroing = pool->released == &pool->dirty && pool->memory != NULL;
    const int broken = list(machine, pool, &pool->ready, is_zeroing, count);
    return broken != 0 ? broken : list(machine, pool, &pool->dirty, 0, count);
}

int check_sv39(const struct check_sv39_machine *machine) {
    const struct tau_sv39 *first = machine->spaces[0];
    uint32_t count = 0;
    for (uint32_t frame = 0; frame < first->tables->frames_count; frame++) {
        machine->marks[frame] = 0;
    }
    for (uint32_t i = 0; i < machine->spaces_count; i++) {
        const int broken = space_walk(machine, machine->spaces[i]);
        if (broken != 0) {
            return broken;
        }
    }
    int broken = pool_walk(machine, first->tables, &count);
    if (broken == 0 && first->frames != first->tables) {
        broken = pool_walk(machine, first->frames, &count);
    }
    if (broken != 0) {
        return broken;
    }
    for (uint32_t frame = 0; frame < first->tables->frames_count; frame++) {
        count += machine->marks[frame] != 0 && machine->marks[frame] != FREE_MARK;
    }
    return count == machine->frames_count ? 0 : 11;
}

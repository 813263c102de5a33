// The levels of a simulated TLB: which structures an access looks into, and who evicts whom.
#include <assert.h>
#include <stdlib.h>

#include "tool/native/tlb/replacement.h"

struct tau_tlb_simulator {
    struct tau_tlb_level levels[TAU_TLB_ARRAYS_MAX];
    struct tau_tlb_color_structure structures[TAU_TLB_STRUCTURES_MAX];
    uintptr_t rows[TAU_TLB_STRUCTURES_MAX][TAU_TLB_COLOR_ROWS_MAX];
    uint32_t levels_count;
    uint32_t structures_count;
    uint32_t page_log2;
    uint32_t owners_count;
    uint64_t *misses;
    uint64_t *evictions;
    uint64_t lookups[2 * TAU_TLB_STRUCTURES_MAX];  // [structure][missed]
};

static bool are_arrays(const struct tau_tlb_color_geometry *geometry) {
    uint64_t entries_count = 0;
    if (geometry->arrays_count == 0 || geometry->arrays_count > TAU_TLB_ARRAYS_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < geometry->arrays_count; i++) {  // bound: ARRAYS_MAX
        const struct tau_tlb_color_array *const array = &geometry->arrays[i];
        if (array->sets_count == 0 || (array->sets_count & (array->sets_count - 1)) != 0 ||
            array->sets_count > 1u << TAU_TLB_COLOR_ROWS_MAX || array->ways == 0) {
            return false;
        }
        entries_count += (uint64_t)array->sets_count * array->ways;
    }
    return entries_count <= TAU_TLB_ENTRIES_MAX;
}

static bool are_structures(const struct tau_tlb_color_geometry *geometry) {
    if (geometry->structures_count > TAU_TLB_STRUCTURES_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < geometry->structures_count; i++) {  // bound: STRUCTURES_MAX
        const struct tau_tlb_color_structure *const structure = &geometry->structures[i];
        if (structure->array >= geometry->arrays_count || structure->role > TAU_TLB_COLOR_CODE ||
            structure->page_log2 < geometry->page_log2 || structure->page_log2 >= 64 ||
            structure->constant >= geometry->arrays[structure->array].sets_count) {
            return false;
        }
    }
    return geometry->page_log2 >= 8;  // so that a key has room next to the number
}

struct tau_tlb_simulator *tau_tlb_simulator_new(const struct tau_tlb_color_geometry *geometry,
                                                enum tau_tlb_policy policy, uint16_t seed,
                                                uint32_t owners_count) {
    if (!are_arrays(geometry) || !are_structures(geometry) || policy >= TAU_TLB_POLICIES_COUNT ||
        seed == 0 || owners_count == 0 || owners_count > TAU_TLB_OWNERS_MAX) {
        return NULL;
    }
    struct tau_tlb_simulator *const simulator = calloc(1, sizeof *simulator);
    if (simulator == NULL) {
        return NULL;
    }
    bool is_open = true;
    for (uint32_t i = 0; i < geometry->arrays_count; i++) {  // bound: ARRAYS_MAX
        struct tau_tlb_level *const level = &simulator->levels[i];
        is_open = tau_tlb_level_open(level, &geometry->arrays[i], policy, seed) && is_open;
    }
    for (uint32_t i = 0; i < geometry->structures_count; i++) {  // bound: STRUCTURES_MAX
        struct tau_tlb_color_structure *const own = &simulator->structures[i];
        *own = geometry->structures[i];
        for (uint32_t bit = 0; 1u << bit < geometry->arrays[own->array].sets_count; bit++) {
            simulator->rows[i][bit] = own->rows[bit];  // bound: ROWS_MAX
        }
        own->rows = simulator->rows[i];
    }
    simulator->levels_count = geometry->arrays_count;
    simulator->structures_count = geometry->structures_count;
    simulator->page_log2 = geometry->page_log2;
    simulator->owners_count = owners_count;
    simulator->misses = calloc(owners_count, sizeof *simulator->misses);
    simulator->evictions =
        calloc((size_t)owners_count * owners_count, sizeof *simulator->evictions);
    if (!is_open || simulator->misses == NULL || simulator->evictions == NULL) {
        tau_tlb_simulator_delete(simulator);
        return NULL;
    }
    return simulator;
}

void tau_tlb_simulator_delete(struct tau_tlb_simulator *simulator) {
    if (simulator == NULL) {
        return;
    }
    for (uint32_t i = 0; i < TAU_TLB_ARRAYS_MAX; i++) {
        tau_tlb_level_close(&simulator->levels[i]);
    }
    free(simulator->misses);
    free(simulator->evictions);
    free(simulator);
}

// ---- An access ---------------------------------------------------------------------------------

// Where an entry of a structure for an address is.
struct place {
    uint32_t set;
    uint64_t key;
};

static struct place place_of(const struct tau_tlb_simulator *simulator,
                             const struct tau_tlb_color_structure *structure, uint64_t address) {
    const uint32_t sets_count = simulator->levels[structure->array].sets_count;
    const uint64_t page = address >> simulator->page_log2;
    const uint64_t is_directory = structure->role == TAU_TLB_COLOR_DIRECTORY;
    uint32_t set = structure->constant;
    for (uint32_t bit = 0; 1u << bit < sets_count; bit++) {  // bound: ROWS_MAX
        set ^= (uint32_t)__builtin_parityll(page & structure->rows[bit]) << bit;
    }
    assert(set < sets_count);
    assert(structure->page_log2 > 0);  // no key is 0
    const uint64_t kind = (uint64_t)structure->page_log2 << 1 | is_directory;
    return (struct place){set, address >> structure->page_log2 << 7 | kind};
}

static bool touch(struct tau_tlb_simulator *simulator,
                  const struct tau_tlb_color_structure *structure, uint64_t address) {
    const struct place place = place_of(simulator, structure, address);
    struct tau_tlb_level *const level = &simulator->levels[structure->array];
    const bool is_hit = tau_tlb_level_touch(level, place.set, place.key);
    simulator->lookups[2 * (structure - simulator->structures) + !is_hit]++;
    return is_hit;
}

static void fill(struct tau_tlb_simulator *simulator,
                 const struct tau_tlb_color_structure *structure, uint64_t address,
                 uint32_t owner) {
    struct tau_tlb_level *const level = &simulator->levels[structure->array];
    const struct place place = place_of(simulator, structure, address);
    const struct tau_tlb_entry evicted = tau_tlb_level_fill(level, place.set, place.key, owner);
    assert(owner < simulator->owners_count);
    if (evicted.key != 0 && level->sets_count > 1) {
        assert(evicted.owner < simulator->owners_count);
        simulator->evictions[(size_t)owner * simulator->owners_count + evicted.owner]++;
    }
}

// The structures that translate pages of one size: `pages` first, `directories` if all miss.
struct translating {
    const struct tau_tlb_color_structure *pages[TAU_TLB_STRUCTURES_MAX];
    const struct tau_tlb_color_structure *directories[TAU_TLB_STRUCTURES_MAX];
    uint32_t pages_count;
    uint32_t directories_count;
};

static struct translating translating_of(const struct tau_tlb_simulator *simulator, uint32_t role,
                                         uint32_t page_log2) {
    struct translating found = {.pages_count = 0};
    for (uint32_t i = 0; i < simulator->structures_count; i++) {  // bound: STRUCTURES_MAX
        const struct tau_tlb_color_structure *const structure = &simulator->structures[i];
        if (structure->role == TAU_TLB_COLOR_DIRECTORY && structure->page_log2 > page_log2) {
            found.directories[found.directories_count++] = structure;
        } else if (structure->role != TAU_TLB_COLOR_DIRECTORY && structure->role == role &&
                   structure->page_log2 == page_log2) {
            found.pages[found.pages_count++] = structure;
        }
    }
    return found;
}

// Looks into each structure before any is filled.
static void access_page(struct tau_tlb_simulator *simulator, const struct translating *translating,
                        uint64_t address, uint32_t owner) {
    const struct tau_tlb_color_structure *missed[TAU_TLB_STRUCTURES_MAX];
    uint32_t missed_count = 0;
    bool is_hit = false;
    for (uint32_t i = 0; i < translating->pages_count && !is_hit; i++) {  // bound: STRUCTURES_MAX
        is_hit = touch(simulator, translating->pages[i], address);
        missed[missed_count] = translating->pages[i];
        missed_count += !is_hit;
    }
    if (!is_hit) {
        simulator->misses[owner]++;
        for (uint32_t i = 0; i < translating->directories_count; i++) {  // bound: STRUCTURES_MAX
            missed[missed_count] = translating->directories[i];
            missed_count += !touch(simulator, translating->directories[i], address);
        }
    }
    assert(missed_count <= simulator->structures_count);
    for (uint32_t i = 0; i < missed_count; i++) {  // bound: STRUCTURES_MAX
        fill(simulator, missed[i], address, owner);
    }
}

bool tau_tlb_simulator_run(struct tau_tlb_simulator *simulator,
                           const struct tau_tlb_accesses *accesses) {
    const struct translating translating =
        translating_of(simulator, accesses->role, accesses->page_log2);
    if (translating.pages_count == 0) {
        return false;
    }
    for (size_t i = 0; i < accesses->count; i++) {  // bound: the accesses
        if (accesses->owners[i] >= simulator->owners_count) {
            return false;
        }
        access_page(simulator, &translating, accesses->addresses[i], accesses->owners[i]);
    }
    return true;
}

const uint64_t *tau_tlb_simulator_misses(const struct tau_tlb_simulator *simulator) {
    return simulator->misses;
}

const uint64_t *tau_tlb_simulator_lookups(const struct tau_tlb_simulator *simulator) {
    return simulator->lookups;
}

const uint64_t *tau_tlb_simulator_evictions(const struct tau_tlb_simulator *simulator) {
    return simulator->evictions;
}

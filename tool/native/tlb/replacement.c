// Replacement policies of a simulated TLB, docs/spec/tlb_color.md [CLR-15].
#include <assert.h>
#include <stdlib.h>

#include "tool/native/tlb/replacement.h"

enum { LFSR_TAPS = 0xB400, LFSR_STEPS = 4 };

bool tau_tlb_level_open(struct tau_tlb_level *level, const struct tau_tlb_color_array *array,
                        enum tau_tlb_policy policy, uint16_t seed) {
    uint32_t leaves = 1;
    assert(array->ways > 0 && array->sets_count > 0);
    assert(seed != 0);              // an LFSR never leaves 0
    while (leaves < array->ways) {  // bound: log2 of the ways
        leaves *= 2;
    }
    const size_t sets_count = array->sets_count;
    *level = (struct tau_tlb_level){
        .sets_count = array->sets_count,
        .ways = array->ways,
        .leaves = leaves,
        .number = seed,
        .policy = policy,
        .entries = calloc(sets_count * array->ways, sizeof *level->entries),
        .used_counts = calloc(sets_count, sizeof *level->used_counts),
        .older = calloc(sets_count * leaves, sizeof *level->older),
    };
    return level->entries != NULL && level->used_counts != NULL && level->older != NULL;
}

void tau_tlb_level_close(struct tau_tlb_level *level) {
    free(level->entries);
    free(level->used_counts);
    free(level->older);
    *level = (struct tau_tlb_level){0};
}

static struct tau_tlb_entry *ways_of(const struct tau_tlb_level *level, uint32_t set) {
    assert(set < level->sets_count);
    return level->entries + (size_t)set * level->ways;
}

static uint8_t *tree_of(const struct tau_tlb_level *level, uint32_t set) {
    assert(set < level->sets_count);
    return level->older + (size_t)set * level->leaves;
}

// ---- What a use changes ------------------------------------------------------------------------

// Once all ways were used, only this one was.
static void use_nru(struct tau_tlb_level *level, uint32_t set, uint32_t way) {
    struct tau_tlb_entry *const ways = ways_of(level, set);
    level->used_counts[set] += 1 - ways[way].is_used;
    ways[way].is_used = 1;
    assert(level->used_counts[set] <= level->ways);
    if (level->used_counts[set] < level->ways) {
        return;
    }
    for (uint32_t i = 0; i < level->ways; i++) {  // bound: the ways
        ways[i].is_used = i == way;
    }
    level->used_counts[set] = 1;
}

// In each half on the way down, the older use is on the other side.
static void use_plru(struct tau_tlb_level *level, uint32_t set, uint32_t way) {
    uint8_t *const older = tree_of(level, set);
    uint32_t node = 1;
    for (uint32_t half = level->leaves / 2; half > 0; half /= 2) {  // bound: log2 of the leaves
        const uint32_t is_right = (way & half) != 0;
        older[node] = !is_right;
        node = 2 * node + is_right;
    }
    assert(node == level->leaves + way);
}

static void use(struct tau_tlb_level *level, uint32_t set, uint32_t way) {
    assert(way < level->ways);
    if (level->policy == TAU_TLB_LRU) {
        ways_of(level, set)[way].last_use = ++level->now;
    } else if (level->policy == TAU_TLB_NRU) {
        use_nru(level, set, way);
    } else if (level->policy == TAU_TLB_PLRU) {
        use_plru(level, set, way);
    }
}

// ---- The victim in a full set ------------------------------------------------------------------

static uint32_t victim_lru(const struct tau_tlb_level *level, uint32_t set) {
    const struct tau_tlb_entry *const ways = ways_of(level, set);
    uint32_t oldest = 0;
    for (uint32_t way = 1; way < level->ways; way++) {  // bound: the ways
        oldest = ways[way].last_use < ways[oldest].last_use ? way : oldest;
    }
    return oldest;
}

// Down to the older side; where that side has no way, to the other.
static uint32_t victim_plru(const struct tau_tlb_level *level, uint32_t set) {
    const uint8_t *const older = tree_of(level, set);
    uint32_t node = 1, way = 0;
    for (uint32_t half = level->leaves / 2; half > 0; half /= 2) {  // bound: log2 of the leaves
        const uint32_t is_right = older[node] != 0 && way + half < level->ways;
        way += is_right != 0 ? half : 0;
        node = 2 * node + is_right;
    }
    assert(way < level->ways);
    return way;
}

static uint32_t victim_nru(const struct tau_tlb_level *level, uint32_t set) {
    const struct tau_tlb_entry *const ways = ways_of(level, set);
    for (uint32_t way = 0; way < level->ways; way++) {  // bound: the ways
        if (ways[way].is_used == 0) {
            return way;
        }
    }
    assert(level->ways == 1);
    return 0;
}

// One of somebody else's entries, if there is any.
static uint32_t victim_adversarial(const struct tau_tlb_level *level, uint32_t set,
                                   uint32_t owner) {
    const struct tau_tlb_entry *const ways = ways_of(level, set);
    uint32_t others_count = 0;
    for (uint32_t way = 0; way < level->ways; way++) {  // bound: the ways
        others_count += ways[way].owner != owner;
    }
    if (others_count == 0) {
        return level->number % level->ways;
    }
    uint32_t left = level->number % others_count;
    for (uint32_t way = 0; way < level->ways; way++) {  // bound: the ways
        if (ways[way].owner != owner && left-- == 0) {
            return way;
        }
    }
    assert(false);
    return 0;
}

static uint32_t victim(const struct tau_tlb_level *level, uint32_t set, uint32_t owner) {
    switch (level->policy) {
    case TAU_TLB_LRU:
        return victim_lru(level, set);
    case TAU_TLB_PLRU:
        return victim_plru(level, set);
    case TAU_TLB_NRU:
        return victim_nru(level, set);
    case TAU_TLB_ADVERSARIAL:
        return victim_adversarial(level, set, owner);
    default:
        return level->number % level->ways;
    }
}

// ---- Accesses ----------------------------------------------------------------------------------

bool tau_tlb_level_touch(struct tau_tlb_level *level, uint32_t set, uint64_t key) {
    const struct tau_tlb_entry *const ways = ways_of(level, set);
    assert(key != 0);
    for (uint32_t way = 0; way < level->ways; way++) {  // bound: the ways
        if (ways[way].key == key) {
            use(level, set, way);
            return true;
        }
    }
    return false;
}

struct tau_tlb_entry tau_tlb_level_fill(struct tau_tlb_level *level, uint32_t set, uint64_t key,
                                        uint32_t owner) {
    struct tau_tlb_entry *const ways = ways_of(level, set);
    uint32_t way = 0;
    assert(key != 0);
    while (way < level->ways && ways[way].key != 0) {  // bound: the ways
        way++;
    }
    if (way == level->ways) {
        way = victim(level, set, owner);
        for (int step = 0; step < LFSR_STEPS; step++) {
            level->number = level->number >> 1 ^ ((level->number & 1) != 0 ? LFSR_TAPS : 0u);
        }
    }
    const struct tau_tlb_entry evicted = ways[way];
    ways[way].key = key;
    ways[way].owner = owner;
    use(level, set, way);
    return evicted;
}

// See check_hierarchy.h. Written from docs/spec/hierarchy.md. It uses the core's structures, and
// the lookups, which it compares with the walk.
#include "core/tests/checks/check_hierarchy.h"

#include <stdlib.h>

#include "core/private/bits_map.h"
#include "core/private/pages/validity_inline.h"

#define NONE UINT32_MAX

static uint32_t chunks_of(const struct tau_hierarchy *space) {
    return (space->pages_count + 31) / 32;
}

static uint32_t bit_of(uint32_t page) {
    return tau_bits_mask(31 - page % 32);
}

// [HIER-2]: the tree says in which chunks a region starts, and so does the stack of each.
static bool tree_holds(const struct tau_hierarchy *space) {
    const uint32_t count = space->chunks.pages_count - 1;
    uint32_t start = 0;
    for (uint32_t chunk = 0; chunk < count; chunk++) {
        const uint32_t top = space->chunks.regions[chunk + 1].top;
        const struct tau_page page = {chunk};
        const bool is_start = tau_region_tree_is_start(&space->tree, page);
        start = is_start ? chunk : start;
        if (top > count || is_start != (top >= chunk + 1) || (chunk == 0 && !is_start) ||
            tau_region_tree_find(&space->tree, page).number != start) {
            return false;
        }
    }
    return true;
}

// [HIER-3]: the stack of the upper region from FIRST to before END holds each of the chunks that
// have a record once, FIRST at the bottom. Notes the records in RECORDS.
static bool stack_holds(const struct tau_hierarchy *space, uint32_t first, uint32_t end,
                        uint32_t *records) {
    const struct tau_validity *const chunks = &space->chunks;
    const uint32_t sp = chunks->regions[first + 1].top;
    if (sp > end) {
        return false;
    }
    for (uint32_t place = first + 1; place <= sp; place++) {
        const uint32_t entry = chunks->stacks[place].page;
        if (entry < first + 1 || entry > end || records[entry - 1] != NONE ||
            (place == first + 1) != (entry == first + 1) || chunks->stacks[entry].helper != place ||
            chunks->regions[entry].cache != first + 1) {
            return false;
        }
        records[entry - 1] = chunks->data[entry];
    }
    return true;
}

static bool stacks_hold(const struct tau_hierarchy *space, uint32_t *records) {
    const uint32_t count = chunks_of(space);
    uint32_t first = 0;
    for (uint32_t chunk = 0; chunk < count; chunk++) {
        records[chunk] = NONE;
    }
    for (uint32_t end = 1; end <= count; end++) {
        if (end == count || tau_region_tree_is_start(&space->tree, (struct tau_page){end})) {
            if (!stack_holds(space, first, end, records)) {
                return false;
            }
            first = end;
        }
    }
    for (uint32_t chunk = 0; chunk < count; chunk++) {  // the lookup sees the same
        uint32_t record = NONE;
        const bool has_record =
            tau_validity_lookup(&space->chunks, (struct tau_page){chunk + 1}, &record);
        if (has_record != (records[chunk] != NONE) || (has_record && record != records[chunk])) {
            return false;
        }
    }
    return true;
}

// [HIER-4]: every record belongs to one chunk, and is needed: a region starts there exactly if the
// tree says so, or a page is mapped.
static bool records_hold(const struct tau_hierarchy *space, const uint32_t *records,
                         struct check_hierarchy_places *places) {
    for (uint32_t chunk = 0; chunk < chunks_of(space); chunk++) {
        if (records[chunk] == NONE) {
            continue;
        }
        if (records[chunk] >= space->tables->free.frames_count) {
            return false;
        }
        const struct tau_hierarchy_record *const record = &space->tables->records[records[chunk]];
        const bool is_start = tau_region_tree_is_start(&space->tree, (struct tau_page){chunk});
        if (is_start != (record->starts != 0) || (!is_start && record->mapped == 0)) {
            return false;
        }
        places->records[records[chunk]]++;
    }
    return true;
}

struct walk {
    const struct tau_hierarchy *space;
    const uint32_t *records;
    struct check_hierarchy_places *places;
    unsigned char *marks;  // the frames of the region that is looked at
    uint32_t mapped_pages;
    uint32_t committed_pages;
    bool was_free;
};

static const struct tau_hierarchy_record *record_at(const struct walk *walk, uint32_t page) {
    const uint32_t record = walk->records[page / 32];
    return record == NONE ? NULL : &walk->space->tables->records[record];
}

static bool is_start(const struct walk *walk, uint32_t page) {
    const struct tau_hierarchy_record *const record = record_at(walk, page);
    return record != NULL && (record->starts & bit_of(page)) != 0;
}

static bool is_mapped(const struct walk *walk, uint32_t page) {
    const struct tau_hierarchy_record *const record = record_at(walk, page);
    return record != NULL && (record->mapped & bit_of(page)) != 0;
}

// [HIER-7]: the ring of a region, whose oldest frame is OLDEST, holds the COUNT frames that are
// marked, each once.
static bool ring_holds(const struct walk *walk, uint32_t oldest, uint32_t count) {
    const struct tau_frames *const frames = walk->space->frames;
    uint32_t frame = oldest;
    for (uint32_t i = 0; i < count; i++) {
        if (frame >= frames->frames_count || !walk->marks[frame]) {
            return false;
        }
        walk->marks[frame] = 0;
        frame = frames->links[frame];
    }
    return frame == oldest;
}

// [HIER-5], [HIER-6], [HIER-7]: the number of the first that the region from START to before END
// breaks, else 0.
static unsigned region_broken(struct walk *walk, uint32_t start, uint32_t end) {
    const struct tau_hierarchy_record *const record = record_at(walk, start);
    const uint32_t header = record->header[31 - start % 32 + 1];
    const uint32_t state = header & VALIDITY_STATE;
    const bool is_free = state == VALIDITY_FREE;
    const bool is_counted = end != start + 1 || end % 32 == 0 || end == walk->space->pages_count;
    uint32_t mapped = 0;
    if ((!is_free && state != VALIDITY_OPEN) || (start == 0 && !is_free) ||
        (start != 0 && is_free && walk->was_free)) {
        return 5;
    }
    walk->was_free = is_free;
    for (uint32_t page = start; page < end; page++) {
        if (!is_mapped(walk, page)) {
            continue;
        }
        const uint32_t entry = record_at(walk, page)->data[31 - page % 32];
        const uint32_t frame = entry & TAU_NUMBER_MASK;
        if (is_free || (entry & ~TAU_NUMBER_MASK) != (header & TAU_RIGHTS) ||
            frame >= walk->space->frames->frames_count) {
            return 6;
        }
        walk->places->frames[frame]++;
        walk->marks[frame] = 1;
        mapped++;
    }
    if (is_free) {
        return 0;
    }
    if (is_counted && record->header[31 - start % 32] != mapped) {
        return 6;
    }
    walk->mapped_pages += mapped;
    walk->committed_pages += end - start;
    // The chunks between the region's ends, in which none starts.
    if (walk->space->commit_max_pages != UINT32_MAX) {
        for (uint32_t chunk = start / 32 + 1; (chunk + 1) * 32 <= end; chunk++) {
            walk->places->promised += walk->records[chunk] == NONE;
        }
    }
    const uint32_t oldest = header & TAU_NUMBER_MASK;
    return mapped == 0 || ring_holds(walk, oldest, mapped) ? 0 : 7;
}

static unsigned regions_broken(const struct tau_hierarchy *space, const uint32_t *records,
                               struct check_hierarchy_places *places, unsigned char *marks) {
    struct walk walk = {.space = space, .records = records, .places = places, .marks = marks};
    uint32_t start = 0;
    if (!is_start(&walk, 0)) {
        return 4;
    }
    for (uint32_t end = 1; end <= space->pages_count; end++) {
        if (end == space->pages_count || is_start(&walk, end)) {
            const unsigned broken = region_broken(&walk, start, end);
            if (broken != 0) {
                return broken;
            }
            start = end;
        }
    }
    return walk.mapped_pages == space->mapped_pages &&
                   walk.committed_pages == space->committed_pages
               ? 0
               : 8;
}

unsigned check_hierarchy(const struct tau_hierarchy *space, struct check_hierarchy_places *places) {
    if (!tau_hierarchy_invariants_hold(space)) {
        return 1;
    }
    if (!tree_holds(space)) {
        return 2;
    }
    uint32_t *const records = malloc(chunks_of(space) * sizeof *records);
    unsigned char *const marks = calloc(space->frames->frames_count, 1);
    unsigned broken = 0;
    if (records == NULL || marks == NULL) {
        abort();
    } else if (!stacks_hold(space, records)) {
        broken = 3;
    } else if (!records_hold(space, records, places)) {
        broken = 4;
    } else {
        broken = regions_broken(space, records, places, marks);
    }
    free(records);
    free(marks);
    return broken;
}

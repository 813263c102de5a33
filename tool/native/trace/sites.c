// An open-addressing hash over an array that only grows; it is kept at most half full.
#include "tool/native/trace/sites.h"

#include <stdlib.h>
#include <string.h>

#include "tool/native/trace/hash.h"

#define FIRST_HASH_BITS 10u
#define SITES_MAX (1u << 30)

void tau_trace_sites_close(struct tau_trace_sites *sites) {
    for (uint32_t i = 0; i < sites->count; i++) {
        free(sites->entries[i].module);
    }
    free(sites->entries);
    free(sites->index_of_hash);
    memset(sites, 0, sizeof *sites);
}

// Where a site's index is, or belongs.
static uint32_t *find(const struct tau_trace_sites *sites, uint64_t hash, const char *module,
                      uint64_t offset, uint32_t caller) {
    uint32_t mask = (1u << sites->hash_bits) - 1;
    uint32_t at = (uint32_t)hash & mask;
    // bound: the hash is at most half full
    while (sites->index_of_hash[at] != 0) {
        const struct tau_trace_site_entry *entry = &sites->entries[sites->index_of_hash[at] - 1];
        if (entry->hash == hash && entry->offset == offset && entry->caller == caller &&
            strcmp(entry->module, module) == 0) {
            break;
        }
        at = (at + 1) & mask;
    }
    return &sites->index_of_hash[at];
}

// Doubles both arrays. False iff memory is short; the table is then as before.
static bool grow(struct tau_trace_sites *sites) {
    uint32_t bits = sites->room == 0 ? FIRST_HASH_BITS : sites->hash_bits + 1;
    uint32_t room = 1u << (bits - 1);
    if (room > SITES_MAX) {
        return false;
    }
    struct tau_trace_site_entry *entries = realloc(sites->entries, room * sizeof *entries);
    if (entries == NULL) {
        return false;
    }
    sites->entries = entries;
    uint32_t *index_of_hash = calloc((size_t)room * 2, sizeof *index_of_hash);
    if (index_of_hash == NULL) {
        return false;
    }
    free(sites->index_of_hash);
    sites->index_of_hash = index_of_hash;
    sites->hash_bits = bits;
    sites->room = room;
    for (uint32_t i = 0; i < sites->count; i++) {
        const struct tau_trace_site_entry *entry = &entries[i];
        *find(sites, entry->hash, entry->module, entry->offset, entry->caller) = i + 1;
    }
    return true;
}

uint32_t tau_trace_sites_index(struct tau_trace_sites *sites, const char *module, uint64_t offset,
                               uint32_t caller) {
    size_t module_bytes = strlen(module);
    if (module_bytes > TAU_TRACE_MODULE_BYTES_MAX ||
        (sites->count == sites->room && !grow(sites))) {
        return 0;
    }
    uint64_t seed = offset + ((uint64_t)caller << 32);
    uint64_t hash = tau_trace_hash((const uint8_t *)module, module_bytes, seed);
    uint32_t *index = find(sites, hash, module, offset, caller);
    if (*index != 0) {
        return *index;
    }
    char *copy = malloc(module_bytes + 1);
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, module, module_bytes + 1);
    sites->has_callers = sites->has_callers || caller != 0;
    sites->entries[sites->count] = (struct tau_trace_site_entry){
        .hash = hash, .offset = offset, .module = copy, .caller = caller};
    *index = ++sites->count;
    return *index;
}

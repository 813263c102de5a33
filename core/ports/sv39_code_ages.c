// Exact ages of cold pages on Sv39. Its loops are over frames.
#include "core/ports/sv39_code_ages.h"

#include "core/private/check.h"

// The accessed bits in COUNT of the ENTRIES, 1 to 32, the first one lowest.
static __attribute__((__noinline__)) uint64_t sv39_code_accessed(uint64_t *const *entries,
                                                                 uint32_t count) {
    uint64_t *const *next = entries + count;
    uint64_t bits = 0;
    TAU_ASSERT(count > 0 && count <= 32);
    do {  // bound: 32
        next--;
        bits = bits << 1 | (*(const volatile uint64_t *)*next >> TAU_SV39_CODE_ACCESSED_BIT & 1);
    } while (next != entries);
    TAU_ASSERT(bits >> count == 0);
    return bits;
}

static __attribute__((__noinline__)) void sv39_code_forget_accessed(uint64_t *const *entries,
                                                                    uint32_t count) {
    uint64_t *const *const end_of_entries = entries + count;
    TAU_ASSERT(count > 0);
    TAU_ASSERT(count <= TAU_CODE_CACHE_FRAMES_MAX);
    do {  // bound: the frames
        volatile uint64_t *const entry = *entries++;
        *entry = *entry & ~TAU_SV39_CODE_ACCESSED;
    } while (entries != end_of_entries);
}

void tau_sv39_code_use(struct tau_sv39_code *code) {
    const uint32_t count = code->cache.frames_count;
    struct tau_code_cache_flags used;
    TAU_INVARIANT(tau_sv39_code_invariants_hold(code));
#pragma GCC unroll 7
    for (uint32_t word = 0; word < TAU_CODE_CACHE_WORDS; word++) {
        const uint32_t first = 32 * word;
        used.words[word] = 0;
        if (count > first) {
            const uint32_t left = count - first;
            used.words[word] =
                (uint32_t)sv39_code_accessed(&code->entries[first], left < 32 ? left : 32);
        }
    }
    TAU_ASSERT(code->no_entry == 0);
    tau_code_cache_use(&code->cache, &used);
}

void tau_sv39_code_age(struct tau_sv39_code *code) {
    tau_sv39_code_use(code);
    sv39_code_forget_accessed(code->entries, code->cache.frames_count);
    TAU_SV39_CODE_FLUSH_ALL();
    tau_code_cache_age(&code->cache);
    TAU_INVARIANT(tau_sv39_code_invariants_hold(code));
    TAU_ASSERT(code->no_entry == 0);
}

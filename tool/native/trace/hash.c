// XXH64, written from its published description (four lanes of multiply and rotate, merged, then
// avalanched). It runs at memory speed, and any flipped bit changes it. It does not protect against
// a forged trace.
#include "tool/native/trace/hash.h"

#include "tool/native/trace/bytes.h"

#define PRIME_1 0x9E3779B185EBCA87ull
#define PRIME_2 0xC2B2AE3D27D4EB4Full
#define PRIME_3 0x165667B19E3779F9ull
#define PRIME_4 0x85EBCA77C2B2AE63ull
#define PRIME_5 0x27D4EB2F165667C5ull

static inline uint64_t rotate(uint64_t word, unsigned bits) {
    return (word << bits) | (word >> (64u - bits));
}

static inline uint64_t absorb(uint64_t lane, uint64_t word) {
    return rotate(lane + word * PRIME_2, 31) * PRIME_1;
}

static inline uint64_t merge(uint64_t hash, uint64_t lane) {
    return (hash ^ absorb(0, lane)) * PRIME_1 + PRIME_4;
}

// The part of the hash that whole 32-byte steps give; moves *at after them.
static uint64_t hash_steps(const uint8_t **at, const uint8_t *end, uint64_t seed) {
    uint64_t lane[4] = {seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1};
    const uint8_t *from = *at;
    do {
        for (unsigned i = 0; i < 4; i++) {
            lane[i] = absorb(lane[i], tau_trace_load64(from + 8 * i));
        }
        from += 32;
    } while (end - from >= 32);
    *at = from;
    uint64_t hash =
        rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
    for (unsigned i = 0; i < 4; i++) {
        hash = merge(hash, lane[i]);
    }
    return hash;
}

uint64_t tau_trace_hash(const uint8_t *bytes, size_t count, uint64_t seed) {
    const uint8_t *at = bytes;
    const uint8_t *end = bytes + count;
    uint64_t hash = count >= 32 ? hash_steps(&at, end, seed) : seed + PRIME_5;
    hash += count;
    for (; end - at >= 8; at += 8) {
        hash = rotate(hash ^ absorb(0, tau_trace_load64(at)), 27) * PRIME_1 + PRIME_4;
    }
    if (end - at >= 4) {
        hash = rotate(hash ^ (tau_trace_load32(at) * PRIME_1), 23) * PRIME_2 + PRIME_3;
        at += 4;
    }
    for (; at < end; at++) {
        hash = rotate(hash ^ (*at * PRIME_5), 11) * PRIME_1;
    }
    hash = (hash ^ (hash >> 33)) * PRIME_2;
    hash = (hash ^ (hash >> 29)) * PRIME_3;
    return hash ^ (hash >> 32);
}

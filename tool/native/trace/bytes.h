// Little-endian words and varints in byte buffers.
#ifndef TAU_TRACE_BYTES_H
#define TAU_TRACE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the host side of the tool is little-endian");

#define TAU_TRACE_VARINT_BYTES_MAX 10u

// Marks a function that is a plain loop over a column. It is also compiled for wider vectors, and
// the machine selects the widest at run time. Sanitizers cannot run the code that selects.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__)
#define TAU_TRACE_VECTOR __attribute__((target_clones("avx2", "default")))
#else
#define TAU_TRACE_VECTOR
#endif

static inline uint32_t tau_trace_load32(const uint8_t *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

static inline uint64_t tau_trace_load64(const uint8_t *from) {
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

static inline void tau_trace_store32(uint8_t *to, uint32_t word) {
    memcpy(to, &word, sizeof word);
}

static inline void tau_trace_store64(uint8_t *to, uint64_t word) {
    memcpy(to, &word, sizeof word);
}

// Writes VALUE in groups of seven bits, lowest first; returns the byte after it. At most
// TAU_TRACE_VARINT_BYTES_MAX bytes.
static inline uint8_t *tau_trace_put_varint(uint8_t *to, uint64_t value) {
    while (value >= 0x80u) {
        *to++ = (uint8_t)(value | 0x80u);
        value >>= 7;
    }
    *to++ = (uint8_t)value;
    return to;
}

// Reads a varint at *at, stops before END; false iff it is cut or does not fit 64 bits.
static inline bool tau_trace_get_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 70u; shift += 7u) {
        if (*at == end) {
            return false;
        }
        uint8_t byte = *(*at)++;
        if (shift == 63u && byte > 1u) {
            return false;
        }
        result |= (uint64_t)(byte & 0x7fu) << shift;
        if (byte < 0x80u) {
            *value = result;
            return true;
        }
    }
    return false;
}

#endif

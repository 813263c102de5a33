// The entropy-coded data as bits: without stuffed zeros, up to the next marker (T.81, F.2.2.5).
//
// Behind a marker or the end, bits are 0 and counted. So a decoder need not ask before each bit: it
// asks once per MCU whether it took such a bit.
#ifndef TAU_JPEG_BITS_H
#define TAU_JPEG_BITS_H

#include <stdbool.h>
#include <stdint.h>

enum { TAU_JPEG_MARKER = 0xff };  // the byte that begins a marker, or a stuffed pair

struct tau_jpeg_bits {
    const uint8_t *next;
    const uint8_t *end;
    uint32_t held;    // bits read ahead, left-aligned
    uint32_t count;   // how many
    uint32_t absent;  // bits that were not in the data, of all that were held
};

static inline void tau_jpeg_bits_begin(struct tau_jpeg_bits *bits, const uint8_t *data,
                                       const uint8_t *end) {
    *bits = (struct tau_jpeg_bits){.next = data, .end = end};
}

// Makes at least 25 bits held. At most four steps.
static inline void tau_jpeg_bits_fill(struct tau_jpeg_bits *bits) {
    while (bits->count <= 24) {
        uint32_t byte = 0;
        if (bits->next == bits->end) {
            bits->absent += 8;
        } else if (*bits->next != TAU_JPEG_MARKER) {
            byte = *bits->next++;
        } else if (bits->end - bits->next >= 2 && bits->next[1] == 0) {
            byte = TAU_JPEG_MARKER;
            bits->next += 2;
        } else {
            bits->absent += 8;
        }
        bits->held |= byte << (24 - bits->count);
        bits->count += 8;
    }
}

// The next 16 bits, which stay. At least 16 are held then.
static inline uint32_t tau_jpeg_bits_peek(struct tau_jpeg_bits *bits) {
    if (bits->count < 16) {
        tau_jpeg_bits_fill(bits);
    }
    return bits->held >> 16;
}

// Takes COUNT bits, which are held.
static inline void tau_jpeg_bits_skip(struct tau_jpeg_bits *bits, uint32_t count) {
    bits->held <<= count;
    bits->count -= count;
}

// Takes a number of SIZE bits, 1 … 11, as T.81 codes it: a first bit of 0 means negative.
static inline int32_t tau_jpeg_bits_number(struct tau_jpeg_bits *bits, uint32_t size) {
    if (bits->count < size) {
        tau_jpeg_bits_fill(bits);
    }
    const int32_t value = (int32_t)(bits->held >> (32 - size));
    const bool is_negative = bits->held >> 31 == 0;
    tau_jpeg_bits_skip(bits, size);
    return is_negative ? value - (int32_t)((1u << size) - 1) : value;
}

// Whether bits were taken that are not in the data.
static inline bool tau_jpeg_bits_are_overdrawn(const struct tau_jpeg_bits *bits) {
    return bits->absent > bits->count;
}

// Goes on after the marker CODE, fill bytes apart, if it is the next thing after at most seven
// bits of padding; else false.
static inline bool tau_jpeg_bits_pass_marker(struct tau_jpeg_bits *bits, uint8_t code) {
    if (bits->count - bits->absent > 7) {
        return false;
    }
    const uint8_t *next = bits->next;
    if (next == bits->end || *next != TAU_JPEG_MARKER) {
        return false;
    }
    while (next != bits->end && *next == TAU_JPEG_MARKER) {  // bound: the data
        next++;
    }
    if (next == bits->end || *next != code) {
        return false;
    }
    tau_jpeg_bits_begin(bits, next + 1, bits->end);
    return true;
}

#endif

// Goal: the bit scans and roundings answer as a loop over the bits would. Method: all values of 24
// bits, all single bits and pairs of bits above them, for the instruction and for the table.
#include "core/tests/kit/test.h"

#include "core/private/bits.h"

static unsigned slow_highest(uint64_t value) {
    unsigned bit = 0;
    while (value > 1) {  // bound: 64
        value >>= 1;
        bit++;
    }
    return bit;
}

static unsigned slow_lowest(uint64_t value) {
    unsigned bit = 0;
    while (value % 2 == 0) {  // bound: 64, as a bit is set
        value >>= 1;
        bit++;
    }
    return bit;
}

static void expect_scans(uint64_t value) {
    if (value <= TAU_BITS_LOG2_MAX && (uintptr_t)value == value) {
        EXPECT_EQUAL(tau_bits_log2((uintptr_t)value), slow_highest(value));
    }
    if (value <= UINT32_MAX) {
        EXPECT_EQUAL(tau_bits_lowest((uint32_t)value), slow_lowest(value));
        EXPECT_EQUAL(tau_bits_highest((uint32_t)value), slow_highest(value));
    }
}

TEST_CASE(every_small_value) {
    for (uint64_t value = 1; value < 1u << 24; value += 1 + (value >> 16)) {
        expect_scans(value);
    }
    for (uint64_t value = 1; value < 1u << 16; value++) {
        expect_scans(value);
        expect_scans(value << 16);
    }
    EXPECT_EQUAL(tau_bits_log2(0), 0);
}

TEST_CASE(every_pair_of_bits) {
    for (unsigned high = 0; high < 64; high++) {
        for (unsigned low = 0; low <= high; low++) {
            uint64_t value = (uint64_t)1 << high | (uint64_t)1 << low;
            expect_scans(value);
            expect_scans(value - 1 + (value == 1));
        }
    }
}

TEST_CASE(powers_of_two) {
    EXPECT(!tau_bits_is_power_of_two(0));
    for (unsigned bit = 0; bit < 8 * sizeof(uintptr_t); bit++) {
        uintptr_t power = (uintptr_t)1 << bit;
        EXPECT(tau_bits_is_power_of_two(power));
        EXPECT(power <= 2 || !tau_bits_is_power_of_two(power - 1));
        EXPECT(power < 2 || !tau_bits_is_power_of_two(power + 1));
    }
}

TEST_CASE(rounding_up) {
    for (uintptr_t alignment = 1; alignment <= 4096; alignment *= 2) {
        for (uintptr_t value = 0; value < 9000; value += 1 + value / 1000) {
            uintptr_t rounded = tau_bits_round_up(value, alignment);
            EXPECT_EQUAL(rounded % alignment, 0);
            EXPECT(rounded >= value && rounded - value < alignment);
        }
    }
}

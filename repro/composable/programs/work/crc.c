// CRC-32 by a table that lies among the constants, of data that do not.
#include "repro/composable/programs/work/many.h"
#include "repro/composable/programs/work/work.h"

// The CRC is linear: a byte's is the sum of its bits'.
#define BIT(n, bit, sum) ((0u - ((n) >> (bit) & 1u)) & (sum))
#define BYTE(n)                                                                                    \
    (BIT(n, 0, 0x77073096u) ^ BIT(n, 1, 0xEE0E612Cu) ^ BIT(n, 2, 0x076DC419u) ^                    \
     BIT(n, 3, 0x0EDB8832u) ^ BIT(n, 4, 0x1DB71064u) ^ BIT(n, 5, 0x3B6E20C8u) ^                    \
     BIT(n, 6, 0x76DC4190u) ^ BIT(n, 7, 0xEDB88320u))
static const uint32_t table[256] = {TAU_MANY_256(BYTE, 0u)};

void tau_iterations_begin(void) {
    tau_work_fill();
}

void tau_iterations_run(void) {
    const uint8_t *bytes = (const uint8_t *)tau_work_input;
    uint32_t sum = ~0u;
    for (uint32_t i = 0; i < TAU_SIZE; i++) {
        sum = sum >> 8 ^ table[(sum ^ bytes[i]) & 255];
        if (i % 64 == 63) {
            tau_work_output[i / 64] = ~sum;
        }
    }
}

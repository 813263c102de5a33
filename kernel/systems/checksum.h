// The checksum that applications print of their output: Fletcher's, over words modulo 2^32.
#ifndef TAU_CHECKSUM_H
#define TAU_CHECKSUM_H

#include <stdint.h>

#include "kernel/base/system_page.h"

struct tau_checksum {
    uint32_t sum;
    uint32_t sum_of_sums;
};

static inline void tau_checksum_add(struct tau_checksum *checksum, const uint32_t *words,
                                    uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        checksum->sum += words[i];
        checksum->sum_of_sums += checksum->sum;
    }
}

// Prints the application's name, how its run ended, and the checksum as 16 digits, in one line.
static inline void tau_checksum_print(const struct tau_checksum *checksum, const char *application,
                                      const char *ending) {
    tau_system_page_print(application);
    tau_system_page_print(": ");
    tau_system_page_print(ending);
    tau_system_page_print(", checksum ");
    tau_system_page_print_hex(checksum->sum);
    tau_system_page_print_hex(checksum->sum_of_sums);
    tau_system_page_print("\n");
}

#endif

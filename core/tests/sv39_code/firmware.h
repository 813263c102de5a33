// Shared by the parts of the firmware, and written for it by firmware.py.
#ifndef TAU_FIRMWARE_H
#define TAU_FIRMWARE_H

#include <stdbool.h>
#include <stdint.h>

#define COLD_CONSTANTS 8u
#define INTERRUPT_PAGES 2u
#define FIRMWARE_MAGIC UINT64_C(0x3130444c4f435441)
#define PAGES_MAX 64u

// The frames whose accessed bits a fault passes on. The end of a period passes on all of them; with
// USES_SOME, each fault visits the next ones, and ends periods.
enum { USES_NONE, USES_ALL, USES_SOME };

struct settings {
    uint64_t magic;
    uint64_t is_paged;  // 0: all code stays where the boot loader put it
    uint64_t policy;
    uint64_t frames_count;
    uint64_t frames_least;
    uint64_t seed;
    uint64_t rounds;
    uint64_t age_rounds;     // Rounds per period of the policy.
    uint64_t uses_at_fault;  // Frames whose accessed bits a fault reads.
    uint64_t tick_time;      // Between two interrupts, in units of 100 instructions. 0: none.
    uint64_t patched_page;   // The page whose last word is changed at boot, or PAGES_MAX.
    uint64_t ticks_max;      // So many interrupts in one round mean that nothing progresses.
};

struct ticks {
    uint64_t count;
    uint64_t sum;
};

uint64_t work_0(uint64_t value, unsigned depth);
uint64_t work_1(uint64_t value, unsigned depth);
uint64_t work_2(uint64_t value, unsigned depth);
uint64_t work_3(uint64_t value, unsigned depth);
uint64_t work_4(uint64_t value, unsigned depth);
uint64_t work_5(uint64_t value, unsigned depth);
uint64_t work_6(uint64_t value, unsigned depth);
uint64_t work_7(uint64_t value, unsigned depth);
uint64_t work_8(uint64_t value, unsigned depth);
uint64_t work_9(uint64_t value, unsigned depth);
uint64_t work_10(uint64_t value, unsigned depth);
uint64_t work_11(uint64_t value, unsigned depth);
uint64_t use_demand(volatile uint64_t *word, uint64_t value);
uint64_t straddle(const void *operand);
uint64_t longer_than_a_page(uint64_t value);
void tick_first(struct ticks *ticks);
void map_on_demand(volatile uint64_t *entry, uint64_t *frame, uintptr_t address);
extern const uint64_t cold_constants[COLD_CONSTANTS];
extern const unsigned char straddle_operand[];

#endif

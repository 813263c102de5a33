// A state machine over bytes: its next state and what it counts come from tables of constants.
#include "repro/composable/programs/work/many.h"
#include "repro/composable/programs/work/work.h"

enum { STATES = 16, KINDS = 16 };
#define KIND(n) (uint8_t)(((n) * 0x9E37u >> 7 ^ (n)) & 15)
#define NEXT(n) (uint8_t)(((n) * 0x85EBu >> 5 ^ (n) >> 3) & 15)
#define ACTION(n) (uint8_t)(((n) * 0xC2B3u >> 9) & 7)
static const uint8_t kinds[256] = {TAU_MANY_256(KIND, 0u)};
static const uint8_t nexts[STATES * KINDS] = {TAU_MANY_256(NEXT, 0u)};
static const uint8_t actions[STATES * KINDS] = {TAU_MANY_256(ACTION, 0u)};
static uint32_t counts[8];

void tau_iterations_begin(void) {
    tau_work_fill();
}

void tau_iterations_run(void) {
    const uint8_t *bytes = (const uint8_t *)tau_work_input;
    uint32_t state = 0;
    for (uint32_t i = 0; i < TAU_SIZE; i++) {
        const uint32_t at = KINDS * state + kinds[bytes[i]];
        counts[actions[at]]++;
        if (actions[at] == 0) {
            tau_work_output[counts[0] % TAU_WORK_WORDS] = i;
        }
        state = nexts[at];
    }
}

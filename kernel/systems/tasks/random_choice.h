// Random numbers and choices of tasks, the same for the same seed.
#ifndef TAU_TASKS_RANDOM_CHOICE_H
#define TAU_TASKS_RANDOM_CHOICE_H

#include <stdint.h>

// Steps of a generator of Marsaglia's; never 0.
static inline uint32_t next_random(uint32_t state) {
    state ^= state << 13;
    state ^= state >> 17;
    return state ^ state << 5;
}

// Exchanges object PLACE and a random one of those from there on; returns the next state.
static inline uint32_t choose(void **objects, uint32_t total, uint32_t place, uint32_t state) {
    state = next_random(state);
    const uint32_t other = place + state % (total - place);
    void *const object = objects[place];
    objects[place] = objects[other];
    objects[other] = object;
    return state;
}

#endif

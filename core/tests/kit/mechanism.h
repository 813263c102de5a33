// A mechanism under test: how to choose a first state, its calls, and its invariants.
//
// One driver (mechanism.c) makes four tests of it:
// - random programs, whose seed is printed, and programs of a fuzzer's bytes (libFuzzer);
// - a log of such a program, if TAU_FUZZ_LOG names a file, which a model in Python repeats;
// - every state that some calls can reach from any first state, with every choice in each.
//
// A call that is refused (its status is not TAU_OK) must leave every part as it was.
#ifndef TAU_MECHANISM_H
#define TAU_MECHANISM_H

#include "core/status.h"
#include "core/tests/kit/choose.h"

struct operation {
    uint32_t weight;                // how often it is chosen, compared with the others
    enum tau_status (*call)(void);  // chooses the arguments; TAU_OK if there was nothing to call
};

struct mechanism {
    const char *name;
    const struct operation *operations;  // ends with a weight of 0
    uint32_t calls_max;                  // in one program
    uint32_t check_every;                // random calls between two checks
    void (*open)(void);
    void (*check)(void);  // the full walk, and what can be compared
    void (*parts)(void);  // names all memory that a call may change, by mechanism_part
    void (*close)(void);  // NULL: nothing to give back
    // For exploring only. NULL: states differ if a byte differs.
    void (*normalize)(void);  // clears what makes no difference
    uint64_t (*fingerprint)(void);
    struct mechanism *next;
};

void mechanism_enter(struct mechanism *entered);

#define MECHANISM(entered)                                                                         \
    __attribute__((constructor)) static void entered##_enter(void) {                               \
        mechanism_enter(&entered);                                                                 \
    }

// One part of the state. Those of a state are always named in the same order.
void mechanism_part(void *memory, size_t size_bytes);

// The Nth number after the depth on the command line of explore; 0: not given.
uint32_t mechanism_argument(unsigned number);

uint64_t mechanism_mix(uint64_t hash, uint64_t value);

// NULL: nobody asked for a log.
extern FILE *mechanism_log;

#define LOG(...)                                                                                   \
    do {                                                                                           \
        if (mechanism_log != NULL) {                                                               \
            fprintf(mechanism_log, __VA_ARGS__);                                                   \
        }                                                                                          \
    } while (0)

// The commands of main.c; each returns the program's status. SIZES: depth, states, arguments.
int mechanism_random(const char *name, uint64_t seed, size_t calls_max);
int mechanism_explore(const char *name, const char *const *sizes, size_t sizes_count);

#endif

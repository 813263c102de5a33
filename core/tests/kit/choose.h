// Where the choices of a program come from: random numbers, a fuzzer's bytes, or all of them in
// turn.
#ifndef TAU_CHOOSE_H
#define TAU_CHOOSE_H

#include "core/tests/kit/test.h"

enum { CHOICES_MAX = 48 };

// A row of choices, each one of several. All rows are tried by counting, the last choice fastest.
struct choices {
    uint32_t taken[CHOICES_MAX];
    uint32_t limit[CHOICES_MAX];
    unsigned count;
    unsigned used_count;
};

// A fuzzer's bytes; NULL: random numbers.
extern const uint8_t *fuzz_input;
extern size_t fuzz_input_left;

// The row that is followed; NULL: random numbers or bytes.
extern struct choices *choices_row;

// A number below LIMIT; 0 when a fuzzer's bytes are used up.
size_t fuzz_choose(size_t limit);

static inline uint32_t choose(uint32_t limit) {
    return (uint32_t)fuzz_choose(limit);
}

// Whether everything is tried in turn. Then few arguments are enough.
static inline bool explores(void) {
    return choices_row != NULL;
}

// True once in COUNT times; both ways where everything is tried.
static inline bool once_in(uint32_t count) {
    return choose(explores() ? 2 : count) == 0;
}

static inline bool fuzz_is_over(void) {
    return fuzz_input != NULL && fuzz_input_left == 0;
}

// Goes on to the next row; false if there is none.
bool choices_next(struct choices *row);

#endif

// Any number, and the end of a proof, for CBMC.
#ifndef TAU_PROOFS_ANY_H
#define TAU_PROOFS_ANY_H

#include <stdint.h>

uint32_t nondet_number(void);

static inline uint32_t below(uint32_t limit) {
    const uint32_t number = nondet_number();
    __CPROVER_assume(number < limit);
    return number;
}

// Ends each proof. That it is reached, so that no assumption excludes every state, is shown by a
// build in which this fails.
static inline void reached(void) {
#ifdef PROOF_REACHED
    __CPROVER_assert(0, "reached");
#endif
}

#endif

// Exact use and ages of cold pages on Sv39, for a port that can read the accessed bits of all
// frames at once. A fault that must be short calls tau_sv39_code_visit instead.
//
// The calls are not reentrant; the caller has interrupts off. Bounds are as in
// core/ports/sv39_code.h.
#ifndef TAU_SV39_CODE_AGES_H
#define TAU_SV39_CODE_AGES_H

#include "core/ports/sv39_code.h"

#ifdef __cplusplus
extern "C" {
#endif

// Passes the accessed bits of all frames' entries on to the cache, as used flags. NRU and aging are
// exact if this is called before each fault; it need not be.
// Cost: at most 567 instructions, for 64 frames.
void tau_sv39_code_use(struct tau_sv39_code *code);

// Ends a period of NRU and aging [P3-19]: as tau_sv39_code_use, then clears the accessed bits and
// flushes the TLB. On a hart that does not set accessed bits itself, the next access faults, and
// tau_sv39_code_fault sets it.
// Cost: at most 1,010 instructions, for 64 frames.
void tau_sv39_code_age(struct tau_sv39_code *code);

#ifdef __cplusplus
}
#endif

#endif

// The control block of a heap whose largest pool is known: its classes and its bytes. Only
// core/tlsf.c includes this.
#ifndef TAU_TLSF_CONTROL_H
#define TAU_TLSF_CONTROL_H

#include "core/private/heap/tlsf_block.h"

static unsigned tlsf_second_level_bits_for(tau_word pool_max_bytes) {
    const tau_word kib = (tau_word)1 << 10;
    return pool_max_bytes < 32 * kib     ? 2
           : pool_max_bytes < 512 * kib  ? 3
           : pool_max_bytes < 4096 * kib ? 4
                                         : 5;
}

static unsigned tlsf_classes_for(tau_word pool_max_bytes) {
    const unsigned level = tlsf_second_level_bits_for(pool_max_bytes);
    const tau_word key = tlsf_key_of(pool_max_bytes);
    const unsigned shift = tau_bits_log2(key >> level);
    const unsigned classes = (shift << level) + (unsigned)(key >> shift) + 1;
    TAU_ASSERT(classes > 1);
    TAU_ASSERT(TAU_BITS_SCAN || key >> level <= TAU_BITS_LOG2_MAX);
    return classes;
}

// Bytes from the first list head to the first payload.
static size_t tlsf_control_bytes_for(unsigned classes) {
    const unsigned words = classes / 32 + 1;
    TAU_ASSERT(classes > 1);
    TAU_ASSERT(words <= TLSF_WORDS_MAX);
    return tau_bits_round_up((classes - 1) * TLSF_WORD_BYTES + sizeof(struct tlsf_fields) +
                                 words * sizeof(uint32_t) + TLSF_WORD_BYTES,
                             TAU_ALIGNMENT);
}

#endif

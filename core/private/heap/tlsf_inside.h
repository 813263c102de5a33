// Functions of core/tlsf.c, besides core/tlsf.h, that other heaps of the core call.
#ifndef TAU_TLSF_INSIDE_H
#define TAU_TLSF_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"
#include "core/tlsf.h"

// As the public functions without `_locked`. The caller holds the lock or owns the heap alone.
bool tau_tlsf_invariants_hold_locked(const struct tau_tlsf *heap);
enum tau_status tau_tlsf_check_locked(const struct tau_tlsf *heap, const void *pointer);

// As tau_tlsf_malloc of a size that is not 0, with one difference. If only memory is lacking, the
// refusal is neither counted nor reported: *REASON is then TAU_NO_MEMORY. The caller takes memory
// elsewhere or calls tlsf_refuse.
void *tau_tlsf_malloc_or(struct tau_tlsf *heap, size_t size_bytes, enum tau_status *reason);

#endif

// What the other heaps of the core call of core/tlsf.c beside core/tlsf.h.
#ifndef TAU_TLSF_INSIDE_H
#define TAU_TLSF_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"
#include "core/tlsf.h"

// As the public functions without `_locked`, for callers that hold the lock or own the heap alone.
bool tau_tlsf_invariants_hold_locked(const struct tau_tlsf *heap);
enum tau_status tau_tlsf_check_locked(const struct tau_tlsf *heap, const void *pointer);

// As tau_tlsf_realloc of an object to a size that is not 0, but where only memory is wanting and
// the object has the usual alignment, the refusal is neither counted nor reported: *COPIED is then
// how many bytes of the object its new place must get, else 0. Ends in a copy elsewhere or in
// tau_tlsf_refuse.
void *tau_tlsf_realloc_or(struct tau_tlsf *heap, void *pointer, size_t size_bytes, size_t *copied);

// Counts and reports a request that is refused for want of memory; NULL.
void *tau_tlsf_refuse(struct tau_tlsf *heap, size_t size_bytes);

#endif

// The checksum of the trace: the 64-bit XXH64 function with seed 0.
#ifndef TAU_TRACE_HASH_H
#define TAU_TRACE_HASH_H

#include <stddef.h>
#include <stdint.h>

// XXH64 of COUNT bytes with the given seed. O(count), 8 bytes a step in four lanes.
uint64_t tau_trace_hash(const uint8_t *bytes, size_t count, uint64_t seed);

#endif

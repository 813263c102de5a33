// The most objects that were alive at once in each range of sizes: what the limits of bands, and so
// the best borders between them, are computed from.
#ifndef TAU_BANDS_H
#define TAU_BANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/native/trace/trace.h"

// One change of a size's live objects: DELTA more from INSTANT on.
struct tau_bands_change {
    uint32_t instant;
    int32_t delta;
};

// PEAKS[low * SIZES_COUNT + high] becomes the most objects of the sizes LOW … HIGH that were alive
// at one instant, for all LOW from LOW_FIRST to below LOW_END and all HIGH ≥ LOW; the rest stays.
// The changes of size i, in the order of instants below INSTANTS_COUNT, are CHANGES[FIRST[i]] …
// CHANGES[FIRST[i + 1] - 1]. After the last instant nothing has to be free.
//
// For each LOW, sizes join one after the other. A tree over the instants holds in each node the sum
// of its changes and the most that a prefix of them sums up to; a change updates one path.
//
// Fails if and only if memory is short. Cost: O(changes * log(instants)) for each LOW at most; with
// many changes in few small sizes, as programs have them, far less. Memory: O(instants).
TAU_TRACE_EXPORT bool tau_bands_peaks(const struct tau_bands_change *changes, const uint64_t *first,
                                      size_t sizes_count, size_t instants_count, size_t low_first,
                                      size_t low_end, uint32_t *peaks);

#endif

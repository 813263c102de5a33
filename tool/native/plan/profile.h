// The profile of a recording: live objects of each size, at the instants that bind a plan [P1-10].
//
// Two passes over a recording that is open for replays:
//   1. tau_profile_survey counts every size: allocations, largest number live at once, number live
//      at the peak.
//   2. tau_profile_reduce keeps, for chosen sizes (the classes), the instants that can bind Eq 5
//      [P1-13]. An instant is the vector (live count of each class, bytes of everything else) after
//      an event. Because Eq 4 grows in every component, an instant that is nowhere above another
//      one can never bind, so it is dropped. It keeps local maxima (instants followed by a
//      decrease) that none of the last REFERENCES kept ones dominates, minus kept ones that a later
//      one dominates while it is still a reference. That is a superset of the maximal instants and
//      a subset of all; nothing that binds is lost.
//
// Sizes are rounded up to the granule. Objects aligned beyond the granule are counted but can never
// be a class, since a dedicated region only promises the granule.
//
// Bounds: time O(1) per event (REFERENCES comparisons), memory O(slots + sizes + kept changes). One
// thread per profile.
#ifndef TAU_PROFILE_H
#define TAU_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "tool/native/replay/replay.h"

#define TAU_PROFILE_CLASSES_MAX 4096u
// The number of prefixes in a survey. The k-th one is the first k / PREFIXES of the events.
// Prefixes stand for shorter inputs of the same program.
#define TAU_PROFILE_PREFIXES 16u
// Live bytes are kept below 2^52, so that sums are exact in a double.
#define TAU_PROFILE_BYTES_MAX (1ull << 52)

struct tau_profile;

enum tau_profile_status {
    TAU_PROFILE_OK = 0,
    TAU_PROFILE_TRACE_FAILED,  // the file could not be read
    TAU_PROFILE_NO_MEMORY,
    TAU_PROFILE_TOO_MANY_BYTES,  // more than TAU_PROFILE_BYTES_MAX live
    // Class sizes are not strictly decreasing, not multiples of the granule, or too many.
    TAU_PROFILE_BAD_ARGUMENT,
};

// One size over all surveyed recordings: sums of allocations and grown, the largest peak_live and
// live_at_peak, the smallest live_at_prefix_peak.
struct tau_profile_size {
    uint64_t size_bytes;  // rounded up to the granule
    uint64_t aligned;     // 1: these objects asked for more than the granule's alignment
    uint64_t allocations;
    uint64_t grown;  // allocations whose TLSF block, with its header, exceeds a bucket by a granule
    uint64_t peak_live;     // P_i,max
    uint64_t live_at_peak;  // objects live when the recording's live bytes were largest
    uint64_t live_at_prefix_peak[TAU_PROFILE_PREFIXES];  // the same for each prefix
};

// The result of the survey of one recording.
struct tau_profile_survey {
    uint64_t peak_live_bytes;  // U_max, sizes rounded up to the granule
    uint64_t event;            // where it ended
};

// One change of a class's live count: from instant INSTANT on, COUNT are live (bytes, for
// everything else).
struct tau_profile_change {
    uint64_t instant;
    uint64_t count;
};

// Fails (NULL) if and only if memory is short or GRANULE_BYTES is not a power of two from 2 to
// 4096.
TAU_TRACE_EXPORT struct tau_profile *tau_profile_new(uint64_t granule_bytes);
TAU_TRACE_EXPORT void tau_profile_delete(struct tau_profile *profile);

// Pass 1 over a recording; *SURVEY is filled as far as the pass came. Misuse is skipped.
TAU_TRACE_EXPORT enum tau_profile_status tau_profile_survey(struct tau_profile *profile,
                                                            struct tau_replay *replay,
                                                            struct tau_profile_survey *survey);
TAU_TRACE_EXPORT size_t tau_profile_sizes_count(const struct tau_profile *profile);
// Copies the sizes in order of first appearance.
TAU_TRACE_EXPORT void tau_profile_sizes(const struct tau_profile *profile,
                                        struct tau_profile_size *sizes);

// Starts a reduction for COUNT classes of strictly decreasing sizes; forgets an earlier one.
TAU_TRACE_EXPORT enum tau_profile_status
tau_profile_reduce_begin(struct tau_profile *profile, const uint64_t *sizes_bytes, size_t count);
// Pass 2 over a recording that was surveyed. Its instants follow all earlier ones.
TAU_TRACE_EXPORT enum tau_profile_status tau_profile_reduce(struct tau_profile *profile,
                                                            struct tau_replay *replay);
TAU_TRACE_EXPORT size_t tau_profile_instants_count(const struct tau_profile *profile);
TAU_TRACE_EXPORT size_t tau_profile_classes_count(const struct tau_profile *profile);
TAU_TRACE_EXPORT uint64_t tau_profile_class_size(const struct tau_profile *profile,
                                                 size_t class_index);
// The changes of class CLASS_INDEX, or, for classes_count, of the bytes of everything else. If
// there is an instant, the first change is at instant 0. Valid until the next reduction.
TAU_TRACE_EXPORT size_t tau_profile_changes_count(const struct tau_profile *profile,
                                                  size_t class_index);
TAU_TRACE_EXPORT const struct tau_profile_change *
tau_profile_changes(const struct tau_profile *profile, size_t class_index);

#endif

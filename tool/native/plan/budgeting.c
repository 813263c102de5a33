// The paper's budgeting over a reduced profile; see budgeting.h.
#include "tool/native/plan/budgeting.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// The instants [first, behind) in which class CLASS_INDEX has COUNT live objects.
struct segment {
    size_t first, behind;
    uint64_t count;
};

static struct segment segment_at(const struct tau_profile *profile, size_t class_index, size_t at) {
    const struct tau_profile_change *changes = tau_profile_changes(profile, class_index);
    size_t behind = at + 1 < tau_profile_changes_count(profile, class_index)
                        ? (size_t)changes[at + 1].instant
                        : tau_profile_instants_count(profile);
    return (struct segment){(size_t)changes[at].instant, behind, changes[at].count};
}

void tau_budgeting_bytes(const struct tau_profile *profile, const double *counts, double *bytes) {
    size_t classes_count = tau_profile_classes_count(profile);
    size_t instants_count = tau_profile_instants_count(profile);
    for (size_t t = 0; t < instants_count; t++) {
        bytes[t] = 0;
    }
    // First the difference to the instant before, then the running sum.
    for (size_t i = 0; i <= classes_count; i++) {
        double size = i < classes_count ? (double)tau_profile_class_size(profile, i) : 1;
        double least = i < classes_count ? counts[i] : 0;
        double before = 0;
        const struct tau_profile_change *changes = tau_profile_changes(profile, i);
        for (size_t at = 0; at < tau_profile_changes_count(profile, i); at++) {
            double live = (double)changes[at].count;
            double taken = live > least ? live : least;
            bytes[changes[at].instant] += size * (taken - before);
            before = taken;
        }
    }
    for (size_t t = 1; t < instants_count; t++) {
        bytes[t] += bytes[t - 1];
    }
}

static int64_t smallest(const int64_t *values, size_t first, size_t behind) {
    int64_t least = INT64_MAX;
    for (size_t t = first; t < behind; t++) {
        least = values[t] < least ? values[t] : least;
    }
    return least;
}

static uint64_t larger_of(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

// N_i of Eq 17, at least LEAST and at most MOST. ROOM(t) is U_max minus Eq 4 with the counts so
// far, LEAST included, so M_i(t) = ROOM(t) + S_i max(LEAST, P_i(t)).
static uint64_t count_of_class(const struct tau_profile *profile, size_t class_index,
                               uint64_t least, uint64_t most, int64_t *room) {
    int64_t size = (int64_t)tau_profile_class_size(profile, class_index);
    size_t changes_count = tau_profile_changes_count(profile, class_index);
    int64_t bytes_min = INT64_MAX;  // M_i,min
    for (size_t at = 0; at < changes_count; at++) {
        struct segment segment = segment_at(profile, class_index, at);
        int64_t taken = size * (int64_t)larger_of(segment.count, least);
        int64_t left = smallest(room, segment.first, segment.behind);
        bytes_min = left + taken < bytes_min ? left + taken : bytes_min;
    }
    uint64_t count = (uint64_t)(bytes_min / size);
    count = larger_of(count < most ? count : most, least);
    for (size_t at = 0; at < changes_count; at++) {
        struct segment segment = segment_at(profile, class_index, at);
        if (segment.count < count) {
            int64_t empty_bytes = size * (int64_t)(count - larger_of(segment.count, least));
            for (size_t t = segment.first; t < segment.behind; t++) {
                room[t] -= empty_bytes;
            }
        }
    }
    return count;
}

enum tau_profile_status tau_budgeting_greedy(const struct tau_profile *profile,
                                             uint64_t limit_bytes, const uint64_t *most,
                                             uint64_t *counts) {
    size_t classes_count = tau_profile_classes_count(profile);
    size_t instants_count = tau_profile_instants_count(profile);
    if (instants_count == 0) {
        return TAU_PROFILE_OK;
    }
    double *bytes = malloc(instants_count * sizeof *bytes);
    int64_t *room = malloc(instants_count * sizeof *room);
    double *least = calloc(classes_count + 1, sizeof *least);
    enum tau_profile_status status = TAU_PROFILE_NO_MEMORY;
    if (bytes != NULL && room != NULL && least != NULL) {
        for (size_t i = 0; i < classes_count; i++) {
            least[i] = (double)counts[i];
        }
        tau_budgeting_bytes(profile, least, bytes);
        for (size_t t = 0; t < instants_count; t++) {
            room[t] = (int64_t)limit_bytes - (int64_t)bytes[t];
        }
        for (size_t i = 0; i < classes_count; i++) {
            counts[i] = count_of_class(profile, i, counts[i], most[i], room);
        }
        status = TAU_PROFILE_OK;
    }
    free(bytes);
    free(room);
    free(least);
    return status;
}

// The search's table: a row of INSTANTS for each class, its live bytes, and a row of sums more than
// classes: sums of row i are Eq 4 with the first i classes dedicated and nothing of the others.
struct search {
    size_t classes, instants;
    int64_t *live;
    int64_t *sums;
};

static bool search_begin(struct search *search, const struct tau_profile *profile) {
    search->classes = tau_profile_classes_count(profile);
    search->instants = tau_profile_instants_count(profile);
    search->live = calloc((search->classes + 1) * search->instants, sizeof *search->live);
    search->sums = calloc((search->classes + 1) * search->instants, sizeof *search->sums);
    if (search->live == NULL || search->sums == NULL) {
        return false;
    }
    for (size_t i = 0; i <= search->classes; i++) {
        // Behind the classes stand the bytes of all other objects, which are in the first sums.
        int64_t *row = i < search->classes ? search->live + i * search->instants : search->sums;
        int64_t size = i < search->classes ? (int64_t)tau_profile_class_size(profile, i) : 1;
        for (size_t at = 0; at < tau_profile_changes_count(profile, i); at++) {
            struct segment segment = segment_at(profile, i, at);
            for (size_t t = segment.first; t < segment.behind; t++) {
                row[t] = size * (int64_t)segment.count;
            }
        }
    }
    return true;
}

static void search_end(struct search *search) {
    free(search->live);
    free(search->sums);
}

// Redoes the sums after class FIRST, whose BUDGETED bytes changed; returns the largest of Eq 4.
static int64_t largest_sum(const struct search *search, size_t first, const int64_t *budgeted) {
    int64_t largest = 0;
    for (size_t i = first; i < search->classes; i++) {
        const int64_t *live = search->live + i * search->instants;
        const int64_t *before = search->sums + i * search->instants;
        int64_t *sums = search->sums + (i + 1) * search->instants;
        for (size_t t = 0; t < search->instants; t++) {
            sums[t] = before[t] + (live[t] > budgeted[i] ? live[t] : budgeted[i]);
        }
    }
    const int64_t *last = search->sums + search->classes * search->instants;
    for (size_t t = 0; t < search->instants; t++) {
        largest = last[t] > largest ? last[t] : largest;
    }
    return largest;
}

// Counts up like an odometer. Returns the first class that changed; classes_count after the last
// combination.
static size_t next_combination(size_t classes_count, const uint64_t *most, uint64_t *counts) {
    for (size_t i = classes_count; i-- > 0;) {
        if (counts[i] < most[i]) {
            counts[i]++;
            return i;
        }
        counts[i] = 0;
    }
    return classes_count;
}

static void search_all(const struct search *search, const struct tau_profile *profile,
                       uint64_t limit_bytes, const uint64_t *most, uint64_t *best, uint64_t *tried,
                       int64_t *budgeted) {
    int64_t best_bytes = -1;
    size_t changed = 0;
    do {
        int64_t dedicated = 0;
        for (size_t i = 0; i < search->classes; i++) {
            budgeted[i] = (int64_t)(tau_profile_class_size(profile, i) * tried[i]);
            dedicated += budgeted[i];
        }
        int64_t largest = largest_sum(search, changed, budgeted);
        if (dedicated > best_bytes && largest <= (int64_t)limit_bytes) {
            best_bytes = dedicated;
            memcpy(best, tried, search->classes * sizeof *best);
        }
        changed = next_combination(search->classes, most, tried);
    } while (changed < search->classes);
}

enum tau_profile_status tau_budgeting_exhaustive(const struct tau_profile *profile,
                                                 uint64_t limit_bytes, const uint64_t *most,
                                                 uint64_t *counts) {
    struct search search;
    enum tau_profile_status status = TAU_PROFILE_NO_MEMORY;
    size_t classes_count = tau_profile_classes_count(profile);
    if (tau_profile_instants_count(profile) == 0) {
        return TAU_PROFILE_OK;
    }
    uint64_t *tried = calloc(classes_count + 1, sizeof *tried);
    int64_t *budgeted = calloc(classes_count + 1, sizeof *budgeted);
    if (search_begin(&search, profile) && tried != NULL && budgeted != NULL) {
        search_all(&search, profile, limit_bytes, most, counts, tried, budgeted);
        status = TAU_PROFILE_OK;
    }
    search_end(&search);
    free(tried);
    free(budgeted);
    return status;
}

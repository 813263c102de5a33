// A profile and its first pass, the survey; what they are for is in profile.h.
#include <stdlib.h>
#include <string.h>

#include "tool/native/plan/profile_pass.h"

// ---- pass 1: the survey ----

// Remembers what was live at the last record before a count changes.
static void entry_touch(struct pass *pass, struct size_entry *entry) {
    if (entry->record != pass->record) {
        entry->record = pass->record;
        entry->live_at_record = entry->live;
    }
}

static bool survey_step(struct pass *pass, uint32_t old_id, uint32_t new_id) {
    struct size_entry *entries = pass->profile->entries;
    if (old_id != ID_NONE) {
        entry_touch(pass, &entries[old_id]);
        entries[old_id].live--;
    }
    if (new_id != ID_NONE) {
        struct size_entry *entry = &entries[new_id];
        entry_touch(pass, entry);
        entry->live++;
        if (entry->live > entry->peak_live) {
            entry->peak_live = entry->live;
        }
    }
    if (pass->live_bytes > pass->survey->peak_live_bytes) {
        pass->record++;
    }
    return true;
}

enum tau_profile_status tau_profile_survey(struct tau_profile *profile,
                                           struct tau_trace_reader *reader,
                                           struct tau_profile_survey *survey) {
    struct pass pass = {
        .profile = profile, .survey = survey, .step = survey_step, .is_survey = true};
    for (size_t i = 0; i < profile->entries_count; i++) {
        profile->entries[i].live = 0;
        profile->entries[i].live_at_record = 0;
        profile->entries[i].record = 0;
    }
    enum tau_profile_status status = tau_profile_pass_run(&pass, reader);
    for (size_t i = 0; i < profile->entries_count; i++) {
        struct size_entry *entry = &profile->entries[i];
        uint64_t at_peak = entry->record == pass.record ? entry->live_at_record : entry->live;
        if (at_peak > entry->live_at_peak) {
            entry->live_at_peak = at_peak;
        }
    }
    profile->traces_count++;
    return status;
}

size_t tau_profile_sizes_count(const struct tau_profile *profile) {
    return profile->entries_count;
}

void tau_profile_sizes(const struct tau_profile *profile, struct tau_profile_size *sizes) {
    for (size_t i = 0; i < profile->entries_count; i++) {
        const struct size_entry *entry = &profile->entries[i];
        sizes[i] = (struct tau_profile_size){
            .size_bytes = entry->key & ~1ull,
            .aligned = entry->key & 1u,
            .allocations = entry->allocations,
            .grown = entry->grown,
            .peak_live = entry->peak_live,
            .live_at_peak = entry->live_at_peak,
        };
        memcpy(sizes[i].live_at_prefix_peak, entry->live_at_prefix_peak,
               sizeof entry->live_at_prefix_peak);
    }
}

struct tau_profile *tau_profile_new(uint64_t granule_bytes) {
    if (granule_bytes < 2 || granule_bytes > 4096 || (granule_bytes & (granule_bytes - 1)) != 0) {
        return NULL;
    }
    struct tau_profile *profile = calloc(1, sizeof *profile);
    if (profile == NULL) {
        return NULL;
    }
    profile->granule_bytes = granule_bytes;
    if (!tau_profile_table_rebuild(profile, 1024)) {
        free(profile);
        return NULL;
    }
    return profile;
}

void tau_profile_delete(struct tau_profile *profile) {
    if (profile == NULL) {
        return;
    }
    tau_profile_reduction_free(&profile->reduction);
    free(profile->entries);
    free(profile->table);
    free(profile->slots);
    free(profile);
}

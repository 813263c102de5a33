#include "linux/runtime/settings.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "linux/interpose/session.h"
#include "linux/runtime/exchange.h"
#include "linux/runtime/report.h"
#include "linux/runtime/unlocked.h"

#define CHECK_LEVEL_MAX 2
#define ALIGNMENT_MAX 4096
// TAU_REPLAY_ARENA_ALIGNMENT of tool/native/replay/replay.h.
#define ARENA_ALIGNMENT ((size_t)1 << 21)

struct tau_settings tau_settings;

// The settings, their lines ended by zeros; empty if there are none.
static struct {
    char *text;
    size_t bytes;
} file;

// The text after NAME and a blank in its line; NULL without such a line.
static const char *value_of(const char *name) {
    const size_t length = strlen(name);
    for (size_t at = 0; at < file.bytes; at += strlen(file.text + at) + 1) {
        const char *const line = file.text + at;
        if (strncmp(line, name, length) == 0 && line[length] == ' ') {
            return line + length + 1;
        }
    }
    return NULL;
}

static void map_settings(const struct tau_exchange *exchange) {
    char *const text = mmap(NULL, exchange->settings_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                            exchange->file, (off_t)exchange->report_bytes);
    if (text == MAP_FAILED) {  // as of no bytes
        return;
    }
    file.text = text;
    file.bytes = exchange->settings_bytes;
    for (size_t at = 0; at < file.bytes; at++) {
        text[at] = text[at] == '\n' ? '\0' : text[at];
    }
    text[file.bytes - 1] = '\0';
}

bool tau_settings_number(const char **text, uint64_t max, uint64_t *found) {
    const char *const start = *text;
    *found = 0;
    while (**text >= '0' && **text <= '9') {
        if (__builtin_mul_overflow(*found, 10, found) ||
            __builtin_add_overflow(*found, (uint64_t)(**text - '0'), found)) {
            return false;
        }
        ++*text;
    }
    return *text != start && *found <= max;
}

// "CHECK_LEVEL HEAP_BYTES SIZE*COUNT SIZE*COUNT ..."; of bands their alignment comes first.
static bool read_plan(const char *text, bool has_bands, struct tau_heap_plan *plan) {
    uint64_t value;
    if (!tau_settings_number(&text, has_bands ? ALIGNMENT_MAX : CHECK_LEVEL_MAX, &value) ||
        *text++ != ' ' || (has_bands && value == 0)) {
        return false;
    }
    *(has_bands ? &plan->alignment_bytes : &plan->check_level) = value;
    if (!tau_settings_number(&text, (uint64_t)1 << 44, &value) || value == 0) {
        return false;
    }
    plan->heap_bytes = value;
    while (*text == ' ' && plan->classes_count < TAU_BUDGET_CLASSES_MAX) {
        struct tau_budget_class *const class = &plan->classes[plan->classes_count++];
        text++;
        if (!tau_settings_number(&text, UINT32_MAX, &value) || *text != '*') {
            return false;
        }
        class->size_bytes = (uint32_t)value;
        text++;
        if (!tau_settings_number(&text, UINT32_MAX, &value)) {
            return false;
        }
        class->count = (uint32_t)value;
    }
    return *text == '\0';
}

// The number in the line NAME, or OTHERWISE.
static size_t bytes_of(const char *name, size_t otherwise) {
    const char *text = value_of(name);
    uint64_t value;
    return text != NULL && tau_settings_number(&text, tau_unlocked_pool_max_bytes(), &value)
               ? value
               : otherwise;
}

// Maps the settings, and in the planned process the report. A process that cannot reach them has no
// plan, as after chroot. Returns whether this process is the planned one.
static bool read_exchange(char *const environment[]) {
    const char *words = tau_session_find(environment, "run");
    // An exec keeps the pid, so a shell that becomes the program hands the plan on.
    const bool is_first = words != NULL && tau_session_number(&words) == (uint64_t)getpid();
    struct tau_exchange exchange;
    if (words == NULL || !tau_exchange_open(&exchange, words)) {
        return is_first;
    }
    map_settings(&exchange);
    if (is_first) {
        tau_report_open(&exchange);
    }
    tau_exchange_close(&exchange, is_first || value_of("children") != NULL);
    return is_first;
}

const struct tau_settings *tau_settings_read(char *const environment[]) {
    struct tau_settings *const settings = &tau_settings;
    const bool is_first = read_exchange(environment);
    const bool is_planned = is_first || value_of("children") != NULL;
    const char *const bands = is_planned ? value_of("bands") : NULL;
    const char *const plan = is_planned && bands == NULL ? value_of("plan") : bands;
    settings->colors = is_planned ? value_of("colors") : NULL;
    settings->spill_bytes = tau_unlocked_pool_max_bytes();
    settings->plan.arena_alignment = ARENA_ALIGNMENT;
    if (plan != NULL) {
        settings->plan.arena_alignment = bytes_of("arena", ARENA_ALIGNMENT);
        settings->is_locked = is_first && value_of("lock") != NULL;
        settings->spill_bytes = bytes_of("spill", tau_unlocked_pool_max_bytes());
        settings->failure = read_plan(plan, bands != NULL, &settings->plan) &&
                                    __builtin_popcountl(settings->plan.arena_alignment) == 1
                                ? NULL
                                : "the settings' plan is damaged";
    }
    return settings;
}

void tau_settings_close(void) {
    if (file.text != NULL) {
        munmap(file.text, file.bytes);
    }
    file.bytes = 0;
    file.text = NULL;
    tau_settings.colors = NULL;
}

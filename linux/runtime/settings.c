#include "linux/runtime/settings.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "core/private/heap/tlsf_block.h"

// The most that a TLSF of this machine can have; `tau run` gives less where address space is
// limited.
#define RESERVED_BYTES ((size_t)POOL_MAX_BYTES)

struct tau_settings tau_settings;

static const char *value_of(char *const environment[], const char *name) {
    const size_t length = strlen(name);
    for (size_t index = 0; environment[index] != NULL; index++) {
        if (strncmp(environment[index], name, length) == 0 && environment[index][length] == '=') {
            return environment[index] + length + 1;
        }
    }
    return NULL;
}

// The number at *TEXT, which moves behind it; at most MAX. False if there is none.
static bool number(const char **text, uint64_t max, uint64_t *found) {
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

// "HEAP_BYTES SIZE*COUNT SIZE*COUNT ..."
static bool read_plan(const char *text, struct tau_heap_plan *plan) {
    uint64_t value;
    if (!number(&text, (uint64_t)1 << 44, &value) || value == 0) {
        return false;
    }
    plan->heap_bytes = value;
    while (*text == ' ' && plan->classes_count < TAU_BUDGET_CLASSES_MAX) {
        struct tau_budget_class *const class = &plan->classes[plan->classes_count++];
        text++;
        if (!number(&text, UINT32_MAX, &value) || *text != '*') {
            return false;
        }
        class->size_bytes = (uint32_t)value;
        text++;
        if (!number(&text, UINT32_MAX, &value)) {
            return false;
        }
        class->count = (uint32_t)value;
    }
    return *text == '\0';
}

// The number in variable NAME, or OTHERWISE.
static size_t bytes_of(char *const environment[], const char *name, size_t otherwise) {
    const char *text = value_of(environment, name);
    uint64_t value;
    return text != NULL && number(&text, RESERVED_BYTES, &value) ? value : otherwise;
}

// An exec keeps the pid, so a shell that becomes the program hands the plan on.
static bool is_program(char *const environment[]) {
    const char *text = value_of(environment, "TAU_RUN_PID");
    uint64_t pid;
    return text != NULL && number(&text, INT32_MAX, &pid) && pid == (uint64_t)getpid();
}

const struct tau_settings *tau_settings_read(char *const environment[]) {
    struct tau_settings *const settings = &tau_settings;
    const bool is_first = is_program(environment);
    const bool is_planned = is_first || value_of(environment, "TAU_RUN_CHILDREN") != NULL;
    const char *const plan = is_planned ? value_of(environment, "TAU_RUN_PLAN") : NULL;
    settings->report = is_first ? value_of(environment, "TAU_RUN_REPORT") : NULL;
    settings->colors = is_planned ? value_of(environment, "TAU_RUN_COLORS") : NULL;
    settings->spill_bytes = bytes_of(environment, "TAU_RUN_RESERVE", RESERVED_BYTES);
    if (plan != NULL) {
        settings->is_locked = is_first && value_of(environment, "TAU_RUN_LOCK") != NULL;
        settings->spill_bytes = bytes_of(environment, "TAU_RUN_SPILL", settings->spill_bytes);
        settings->failure = read_plan(plan, &settings->plan) ? NULL : "TAU_RUN_PLAN is damaged";
    }
    return settings;
}

// A recording's touches of cold pages, replayed on the core's own code cache, and on the policy
// that knows the future.
//
// docs/spec/code_plan.md ([CPLAN-18]) defines what a touch does. Time: linear in touches, and in
// frames at each load of the second. One thread per call.
#ifndef TAU_TOOL_CODE_CACHE_H
#define TAU_TOOL_CODE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/code_cache.h"
#include "tool/native/trace/trace.h"

// The core's functions, of whichever library was built from it.
struct tau_code_cache_calls {
    enum tau_status (*init)(struct tau_code_cache *cache,
                            const struct tau_code_cache_settings *settings, uint8_t *page_frames);
    enum tau_status (*fault)(struct tau_code_cache *cache, struct tau_page page,
                             struct tau_code_cache_answer *answer);
    void (*use)(struct tau_code_cache *cache, const struct tau_code_cache_flags *flags);
    void (*age)(struct tau_code_cache *cache);
};

// Pages in the order of their touches.
struct tau_code_touches {
    const uint16_t *pages;
    size_t count;
};

// Replays TOUCHES. Fails (false) if and only if the core refuses the settings or a page, or memory
// is short.
TAU_TRACE_EXPORT bool tau_code_cache_replay(const struct tau_code_cache_calls *calls,
                                            const struct tau_code_cache_settings *settings,
                                            const struct tau_code_touches *touches,
                                            struct tau_code_cache_counts *counts);

// The fewest loads of any policy: evicts the page that is touched last again (Belady). Fails
// (UINT64_MAX) if and only if memory is short.
TAU_TRACE_EXPORT uint64_t tau_code_cache_fewest_loads(const struct tau_code_touches *touches,
                                                      uint32_t pages_count, uint32_t frames_count);

#endif

// Links: addresses of one word, whatever the width of a pointer.
//
// Where words are as wide as pointers a link is the address. On a 64-bit machine that lays a heap
// out for a 32-bit target it is the signed distance from the heap's handle, so that the bytes and
// decisions are the target's. 0 is no link.
#ifndef TAU_LINK_H
#define TAU_LINK_H

#include <stdint.h>

#include "core/config.h"

static inline __attribute__((always_inline)) tau_word *tau_link_follow(const void *handle,
                                                                       tau_word link) {
#if UINTPTR_MAX > 0xffffffffu && TAU_WORD_BITS == 32
    return (tau_word *)((uintptr_t)handle + (uintptr_t)(intptr_t)(int32_t)link);
#else
    (void)handle;
    return (tau_word *)(uintptr_t)link;
#endif
}

static inline __attribute__((always_inline)) tau_word tau_link_to(const void *handle,
                                                                  const void *address) {
#if UINTPTR_MAX > 0xffffffffu && TAU_WORD_BITS == 32
    return (tau_word)((uintptr_t)address - (uintptr_t)handle);
#else
    (void)handle;
    return (tau_word)(uintptr_t)address;
#endif
}

#endif

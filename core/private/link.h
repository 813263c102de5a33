// Links: addresses of one word, whatever the width of a pointer.
//
// If words are as wide as pointers, a link is the address. If a 64-bit machine lays out a heap for
// a 32-bit target, a link is the signed distance from the heap's handle. The heap's bytes and
// decisions are then the target's. 0 means that there is none.
#ifndef TAU_LINK_H
#define TAU_LINK_H

#include <stdint.h>

#include "core/config.h"
#include "core/private/inline.h"

TAU_INLINE tau_word *tau_link_follow(const void *handle, tau_word link) {
#if UINTPTR_MAX > 0xffffffffu && TAU_WORD_BITS == 32
    return (tau_word *)((uintptr_t)handle + (uintptr_t)(intptr_t)(int32_t)link);
#else
    (void)handle;
    return (tau_word *)(uintptr_t)link;
#endif
}

TAU_INLINE tau_word tau_link_to(const void *handle, const void *address) {
#if UINTPTR_MAX > 0xffffffffu && TAU_WORD_BITS == 32
    return (tau_word)((uintptr_t)address - (uintptr_t)handle);
#else
    (void)handle;
    return (tau_word)(uintptr_t)address;
#endif
}

#endif

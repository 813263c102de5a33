// The functions of <string.h> that compiled code calls, and those that most programs use. All are
// weak: a program may have its own. Cost: linear; aligned words are moved as words.
#include <stddef.h>
#include <stdint.h>

#include "targets/include/string.h"

#define WEAK __attribute__((weak))
enum { WORD_BYTES = sizeof(uint32_t) };

// A word that may hold objects of any type.
typedef uint32_t __attribute__((may_alias)) tau_word;

WEAK void *memset(void *to, int value, size_t size_bytes) {
    unsigned char *bytes = to;
    unsigned char *const end = bytes + size_bytes;
    const uint32_t word = (unsigned char)value * UINT32_C(0x01010101);
    for (; bytes != end && (uintptr_t)bytes % WORD_BYTES != 0; bytes++) {
        *bytes = (unsigned char)value;
    }
    for (; (size_t)(end - bytes) >= WORD_BYTES; bytes += WORD_BYTES) {
        *(tau_word *)(void *)bytes = word;
    }
    for (; bytes != end; bytes++) {
        *bytes = (unsigned char)value;
    }
    return to;
}

// From the first byte to the last, which is right too where TO lies ahead of FROM and overlaps it.
static void copy_upwards(unsigned char *to, const unsigned char *from, size_t size_bytes) {
    const unsigned char *const end = from + size_bytes;
    if (((uintptr_t)to | (uintptr_t)from) % WORD_BYTES == 0) {
        for (; (size_t)(end - from) >= WORD_BYTES; from += WORD_BYTES, to += WORD_BYTES) {
            *(tau_word *)(void *)to = *(const tau_word *)(const void *)from;
        }
    }
    for (; from != end; from++, to++) {
        *to = *from;
    }
}

WEAK void *memcpy(void *restrict to, const void *restrict from, size_t size_bytes) {
    copy_upwards(to, from, size_bytes);
    return to;
}

WEAK void *memmove(void *to, const void *from, size_t size_bytes) {
    unsigned char *const target = to;
    const unsigned char *const source = from;
    if ((uintptr_t)to - (uintptr_t)from >= size_bytes) {
        copy_upwards(target, source, size_bytes);
        return to;
    }
    for (size_t i = size_bytes; i > 0; i--) {
        target[i - 1] = source[i - 1];
    }
    return to;
}

WEAK int memcmp(const void *one, const void *two, size_t size_bytes) {
    const unsigned char *const left = one;
    const unsigned char *const right = two;
    for (size_t i = 0; i < size_bytes; i++) {
        if (left[i] != right[i]) {
            return left[i] - right[i];
        }
    }
    return 0;
}

WEAK size_t strlen(const char *text) {
    const char *end = text;
    while (*end != '\0') {  // bound: the text
        end++;
    }
    return (size_t)(end - text);
}

WEAK char *strchr(const char *text, int character) {
    for (; *text != (char)character; text++) {  // bound: the text
        if (*text == '\0') {
            return NULL;
        }
    }
    return (char *)(uintptr_t)text;
}

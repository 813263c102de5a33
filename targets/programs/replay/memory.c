// The two functions of the C library that compiled code may call, one byte at a time. The replay
// itself moves and clears objects by words.
#include <stddef.h>
#include <stdint.h>

void *memset(void *to, int value, size_t size_bytes);
void *memmove(void *to, const void *from, size_t size_bytes);
void *memcpy(void *to, const void *from, size_t size_bytes);

void *memset(void *to, int value, size_t size_bytes) {
    volatile unsigned char *const bytes = to;
    for (size_t i = 0; i < size_bytes; i++) {
        bytes[i] = (unsigned char)value;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t size_bytes) {
    volatile unsigned char *const target = to;
    const unsigned char *const source = from;
    if ((uintptr_t)to - (uintptr_t)from < size_bytes) {
        for (size_t i = size_bytes; i > 0; i--) {
            target[i - 1] = source[i - 1];
        }
        return to;
    }
    for (size_t i = 0; i < size_bytes; i++) {
        target[i] = source[i];
    }
    return to;
}

void *memcpy(void *to, const void *from, size_t size_bytes) {
    return memmove(to, from, size_bytes);
}

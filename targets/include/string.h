// The functions of targets/strings.c, under the name that programs include. With picolibc its own
// header is found instead.
#ifndef TAU_TARGETS_STRING_H
#define TAU_TARGETS_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size_bytes);
void *memmove(void *to, const void *from, size_t size_bytes);
void *memset(void *to, int value, size_t size_bytes);
int memcmp(const void *one, const void *two, size_t size_bytes);
size_t strlen(const char *text);
char *strchr(const char *text, int character);

#endif

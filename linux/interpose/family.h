// The real functions of malloc's family, for a library that interposes them. Until they are known,
// the boot arena serves in their place.
#ifndef TAU_LINUX_INTERPOSE_FAMILY_H
#define TAU_LINUX_INTERPOSE_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#define TAU_EXPORT __attribute__((visibility("default")))
#define TAU_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

// malloc, calloc, realloc, memalign and free can be called at any time. The others are NULL before
// they are known, and for good where the allocator does not have them.
struct tau_family {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void (*free)(void *);
    void (*free_sized)(void *, size_t);
    void (*free_aligned_sized)(void *, size_t, size_t);
};

// Hidden, so that each call reads it without a detour.
extern struct tau_family tau_family __attribute__((visibility("hidden")));

// Looks all of them up, once; for a call that comes before any of malloc's. False while that is
// under way.
bool tau_family_resolve(void);

// The interposing library defines it: it looks up what else it interposes, and gets ready. Called
// once, before the real allocator is known, so whatever it allocates is in the boot arena.
void tau_family_prepare(void);

// A copy of POINTER, which the boot arena owns, in SIZE bytes of the real allocator; NULL if there
// is none.
void *tau_family_copy_from_boot(const void *pointer, size_t size);

#endif

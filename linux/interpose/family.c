// Until the real functions are known, others stand in their places, so that no path has to ask.
#include "linux/interpose/family.h"

#include <stdatomic.h>
#include <string.h>

#include "linux/interpose/boot.h"
#include "linux/interpose/look_up.h"

static void *boot_malloc(size_t size);
static void *boot_calloc(size_t count, size_t size);
static void *boot_realloc(void *pointer, size_t size);
static void *boot_aligned(size_t alignment, size_t size);
static void boot_free(void *pointer);

struct tau_family tau_family = {
    .malloc = boot_malloc,
    .calloc = boot_calloc,
    .realloc = boot_realloc,
    .memalign = boot_aligned,
    .free = boot_free,
};

static _Atomic int resolving;  // 0 not yet, 1 under way, 2 done

// Calls that the look-up itself makes find `resolving` at 1.
bool tau_family_resolve(void) {
    int expected = 0;
    if (!atomic_compare_exchange_strong(&resolving, &expected, 1)) {
        return expected == 2;
    }
    tau_family_prepare();
    *(void **)&tau_family.aligned_alloc = tau_look_up_next("aligned_alloc");
    *(void **)&tau_family.posix_memalign = tau_look_up_next("posix_memalign");
    *(void **)&tau_family.valloc = tau_look_up_next("valloc");
    *(void **)&tau_family.pvalloc = tau_look_up_next("pvalloc");
    *(void **)&tau_family.free_sized = tau_look_up_next("free_sized");
    *(void **)&tau_family.free_aligned_sized = tau_look_up_next("free_aligned_sized");
    void *memalign_found = tau_look_up_next("memalign");
    void *free_found = tau_look_up_next("free");
    void *calloc_found = tau_look_up_next("calloc");
    void *realloc_found = tau_look_up_next("realloc");
    *(void **)&tau_family.malloc = tau_look_up_next("malloc");
    *(void **)&tau_family.memalign = memalign_found;
    *(void **)&tau_family.calloc = calloc_found;
    *(void **)&tau_family.realloc = realloc_found;
    *(void **)&tau_family.free = free_found;
    atomic_store(&resolving, 2);
    return true;
}

static void *boot_malloc(size_t size) {
    return tau_family_resolve() ? tau_family.malloc(size) : tau_boot_allocate(size, 16);
}

static void *boot_calloc(size_t count, size_t size) {
    size_t bytes;
    if (tau_family_resolve()) {
        return tau_family.calloc(count, size);
    }
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : tau_boot_allocate(bytes, 16);
}

static void *boot_realloc(void *pointer, size_t size) {
    if (tau_family_resolve()) {
        return tau_family.realloc(pointer, size);
    }
    // Everything that exists now is in the boot arena, and realloc copies out of it before it comes
    // here.
    return pointer == NULL ? tau_boot_allocate(size, 16) : NULL;
}

static void *boot_aligned(size_t alignment, size_t size) {
    return tau_family_resolve() ? tau_family.memalign(alignment, size)
                                : tau_boot_allocate(size, alignment);
}

static void boot_free(void *pointer) {
    if (tau_family_resolve()) {
        tau_family.free(pointer);
    }
}

void *tau_family_copy_from_boot(const void *pointer, size_t size) {
    const size_t old_bytes = tau_boot_size(pointer);
    void *copy = tau_family.malloc(size);
    if (copy != NULL) {
        memcpy(copy, pointer, old_bytes < size ? old_bytes : size);
    }
    return copy;
}

// Serves every call of a firmware's heap from the heap of a plan, with newlib, newlib-nano and
// picolibc. Add this file and the core's to the build, with the plan's optimization (-Os):
//
//   tau plan program.tau -o plan.toml --header heap_plan.h
//   gcc … -Itautochrone -I. -DTAU_SINGLE_THREAD tautochrone/core/ports/newlib/heap.c
//   tautochrone/core/tlsf.c tautochrone/core/budget.c
//
// A guaranteed plan also needs core/pools.c. Compile them as C, also in a C++ firmware. Remove
// record_wrap.c and its flags.
//
// Every function by which these libraries reach their heap is defined here, so the linker takes
// none of theirs. strdup, printf, valloc, reallocf, and C++'s new and delete call these functions.
// mallinfo describes this heap. malloc_stats and malloc_trim describe the library's own: a firmware
// that calls one of them does not link.
//
// The first call makes the heap: constructors and the C library allocate before main. With threads
// or interrupts, give all files a TAU_PORT_HEADER with the two lock hooks of core/port.h instead of
// TAU_SINGLE_THREAD, and allocate once before the second thread starts.
#include "core/private/inline.h"  // says that this is C

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef TAU_PORT_HEADER
#include TAU_PORT_HEADER
#endif
#if !defined(TAU_PORT_LOCK) && !defined(TAU_SINGLE_THREAD)
#error "no lock: add the hooks of core/port.h, or -DTAU_SINGLE_THREAD if one thread has the heap"
#endif

#include "core/pools.h"
#include "core/ports/heap_count.h"

#include "heap_plan.h"

static _Alignas(TAU_PLAN_ALIGNMENT) unsigned char heap_memory[TAU_PLAN_HEAP_BYTES];
static tau_plan_heap *heap;

static bool heap_is_ready(void) {
    if (heap == NULL) {
        heap = tau_plan_init(heap_memory);
    }
    return heap != NULL;
}

static void *heap_object_or_error(void *object) {
    if (object == NULL) {
        errno = ENOMEM;
    }
    return object;
}

// An object of no bytes is one of a byte: many programs take NULL for a failure.
static size_t heap_at_least_one(size_t size) {
    return size == 0 ? 1 : size;
}

static bool heap_is_power_of_two(size_t alignment) {
    return alignment != 0 && (alignment & (alignment - 1)) == 0;
}

static void *heap_aligned(size_t alignment, size_t size) {
    return heap_is_ready() ? tau_plan_aligned_alloc(heap, alignment, heap_at_least_one(size))
                           : NULL;
}

void *malloc(size_t size) {
    return heap_object_or_error(heap_is_ready() ? tau_plan_malloc(heap, heap_at_least_one(size))
                                                : NULL);
}

void *calloc(size_t count, size_t size) {
    if (count == 0 || size == 0) {
        count = size = 1;
    }
    return heap_object_or_error(heap_is_ready() ? tau_plan_calloc(heap, count, size) : NULL);
}

void free(void *pointer) {
    if (pointer != NULL && heap_is_ready()) {
        (void)tau_plan_free(heap, pointer);
    }
}

void *realloc(void *pointer, size_t size) {
    if (pointer == NULL) {
        return malloc(size);
    }
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    return heap_object_or_error(heap_is_ready() ? tau_plan_realloc(heap, pointer, size) : NULL);
}

void *memalign(size_t alignment, size_t size) {
    if (!heap_is_power_of_two(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    return heap_object_or_error(heap_aligned(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **object, size_t alignment, size_t size) {
    if (!heap_is_power_of_two(alignment) || alignment < sizeof(void *)) {
        return EINVAL;
    }
    void *made = heap_aligned(alignment, size);
    if (made == NULL) {
        return ENOMEM;
    }
    *object = made;
    return 0;
}

void *reallocarray(void *pointer, size_t count, size_t size) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(pointer, bytes);
}

void cfree(void *pointer) {
    free(pointer);
}

size_t malloc_usable_size(void *pointer) {
    return pointer != NULL && heap_is_ready() ? tau_plan_usable_size(heap, pointer) : 0;
}

// Bytes of blocks with their headers: used (uordblks) and free (fordblks). The rest of the heap
// (arena) is its tables. keepcost: the bytes at the heap's end that no object ever had; a heap
// without them serves the same run. The other fields are 0.
struct mallinfo mallinfo(void) {
    struct mallinfo info = {.arena = TAU_PLAN_HEAP_BYTES};
    if (heap_is_ready()) {
        const struct tau_heap_count count = TAU_HEAP_COUNT(heap);
        info.uordblks = count.used_bytes;
        info.fordblks = count.free_bytes;
        info.keepcost = count.untouched_bytes;
    }
    return info;
}

#if defined(__NEWLIB__) && !defined(__PICOLIBC__)

// ---- newlib's own calls: printf, strdup, fopen, … ----

void *_malloc_r(struct _reent *task, size_t size) {
    (void)task;
    return malloc(size);
}

void *_calloc_r(struct _reent *task, size_t count, size_t size) {
    (void)task;
    return calloc(count, size);
}

void _free_r(struct _reent *task, void *pointer) {
    (void)task;
    free(pointer);
}

void *_realloc_r(struct _reent *task, void *pointer, size_t size) {
    (void)task;
    return realloc(pointer, size);
}

void *_memalign_r(struct _reent *task, size_t alignment, size_t size) {
    (void)task;
    return memalign(alignment, size);
}

size_t _malloc_usable_size_r(struct _reent *task, void *pointer) {
    (void)task;
    return malloc_usable_size(pointer);
}

struct mallinfo _mallinfo_r(struct _reent *task) {
    (void)task;
    return mallinfo();
}
#endif

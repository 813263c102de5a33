// malloc's family. Results and errno equal the C library's. A request that no heap can hold is
// refused with ENOMEM.
#include "linux/runtime/calls.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/interpose/boot.h"
#include "linux/runtime/colors/heaps.h"
#include "linux/runtime/colors/threads.h"
#include "linux/runtime/high_water.h"
#include "linux/runtime/report.h"
#include "linux/runtime/spill.h"

#define PAGE_BYTES ((size_t)4096)

TAU_EXPORT void free_sized(void *pointer, size_t size);
TAU_EXPORT void free_aligned_sized(void *pointer, size_t alignment, size_t size);

// ---- Allocating ----

// The call has entered.
static inline __attribute__((always_inline)) void *allocate(size_t size_bytes, uintptr_t site) {
    size_bytes += size_bytes == 0;
    struct tau_colors_task *const task = tau_colors_current();
    if (task != NULL) {
        return tau_colors_allocate(task, 16, size_bytes, site);
    }
    void *pointer = tau_heap.budget != NULL  ? tau_budget_malloc(tau_heap.budget, size_bytes)
                    : tau_heap.pools != NULL ? tau_pools_malloc(tau_heap.pools, size_bytes)
                                             : tau_magazines_allocate(size_bytes);
    if (TAU_UNLIKELY(pointer == NULL)) {
        pointer = tau_heap_spill(16, size_bytes, site);
    }
    tau_lock_leave();
    return pointer;
}

// All calls on a plan but the plain call of a lone thread.
static __attribute__((noinline)) void *allocate_shared(size_t size_bytes, uintptr_t site) {
    return tau_calls_enter_planned() ? allocate(size_bytes, site)
                                     : tau_nested_calls_allocate(16, size_bytes);
}

void *tau_calls_allocate_planned(size_t size_bytes, uintptr_t site) {
    if (TAU_UNLIKELY(!tau_lock_enter_alone())) {
        return allocate_shared(size_bytes, site);
    }
    size_bytes += size_bytes == 0;  // an object of its own, as the C library gives
    void *pointer = tau_heap.budget != NULL
                        ? tau_unlocked_budget_malloc(tau_heap.budget, size_bytes)
                        : tau_unlocked_pools_malloc(tau_heap.pools, size_bytes);
    if (TAU_UNLIKELY(pointer == NULL)) {
        pointer = tau_heap_spill(16, size_bytes, site);
    }
    tau_lock_leave_alone();
    return pointer;
}

void *tau_calls_allocate_unplanned(size_t size_bytes, uintptr_t site) {
    return tau_calls_enter() ? allocate(size_bytes, site)
                             : tau_nested_calls_allocate(16, size_bytes);
}

TAU_EXPORT void *malloc(size_t size) {
    return tau_calls_allocate(size, TAU_CALLS_SITE);
}

// Clears memory that was handed out before. The kernel has cleared the rest.
static void clear(unsigned char *object, size_t size_bytes) {
    const uintptr_t start = (uintptr_t)object;
    uintptr_t fresh = UINTPTR_MAX;
    if (size_bytes >= TAU_HIGH_WATER_LARGE_BYTES) {
        const uintptr_t before = tau_high_water_latest.before;
        atomic_signal_fence(memory_order_seq_cst);
        fresh = tau_high_water_latest.object == start ? before : UINTPTR_MAX;
    }
    if (TAU_LIKELY(start < fresh)) {
        tau_spill_clear(object, size_bytes < fresh - start ? size_bytes : fresh - start);
    }
}

TAU_EXPORT void *calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        bytes = SIZE_MAX;  // refused, and counted
    }
    void *const pointer = tau_calls_allocate(bytes, TAU_CALLS_SITE);
    if (pointer != NULL && !TAU_UNLIKELY(tau_boot_owns(pointer))) {
        clear(pointer, bytes);
    }
    return pointer;
}

void *tau_calls_allocate_aligned(size_t alignment, size_t size_bytes, uintptr_t site) {
    if (!tau_calls_enter()) {
        return tau_nested_calls_allocate(alignment, size_bytes);
    }
    size_bytes += size_bytes == 0;
    struct tau_colors_task *const task = tau_colors_current();
    if (task != NULL) {
        return tau_colors_allocate(task, alignment, size_bytes, site);
    }
    void *pointer =
        tau_heap.budget != NULL  ? tau_budget_aligned_alloc(tau_heap.budget, alignment, size_bytes)
        : tau_heap.pools != NULL ? tau_pools_aligned_alloc(tau_heap.pools, alignment, size_bytes)
                                 : tau_tlsf_aligned_alloc(tau_heap.spill, alignment, size_bytes);
    if (pointer == NULL) {
        pointer = tau_heap_spill(alignment, size_bytes, site);
    }
    tau_lock_leave();
    return pointer;
}

// The next power of two, as the C library takes it; 0 if there is none.
static size_t power_of_two(size_t alignment) {
    if (alignment <= 16) {
        return 16;
    }
    if (alignment > SIZE_MAX / 2 + 1) {
        return 0;
    }
    return (size_t)1 << (64 - __builtin_clzl(alignment - 1));
}

static void *aligned(size_t alignment, size_t size, uintptr_t site) {
    const size_t power = power_of_two(alignment);
    if (power == 0) {
        errno = EINVAL;
        return NULL;
    }
    return tau_calls_allocate_aligned(power, size, site);
}

TAU_EXPORT void *memalign(size_t alignment, size_t size) {
    return aligned(alignment, size, TAU_CALLS_SITE);
}

TAU_EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    return aligned(alignment, size, TAU_CALLS_SITE);
}

TAU_EXPORT int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) {
        return EINVAL;
    }
    void *const pointer = aligned(alignment, size, TAU_CALLS_SITE);
    if (pointer == NULL) {
        return ENOMEM;
    }
    *result = pointer;
    return 0;
}

TAU_EXPORT void *valloc(size_t size) {
    return aligned(PAGE_BYTES, size, TAU_CALLS_SITE);
}

TAU_EXPORT void *pvalloc(size_t size) {
    size_t bytes;
    if (__builtin_add_overflow(size, PAGE_BYTES - 1, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return aligned(PAGE_BYTES, bytes & ~(PAGE_BYTES - 1), TAU_CALLS_SITE);
}

// ---- Freeing ----

// In neither heap: of the boot arena, which keeps it, or no object.
static void refuse_foreign(const void *pointer) {
    if (!tau_boot_owns(pointer)) {
        tau_report_stop(pointer, TAU_FOREIGN_POINTER);
    }
}

// By the header of what may be no object: free looks at that. Such an object's pages are worth a
// system call.
static inline bool is_large(const void *pointer) {
    size_t header;
    memcpy(&header, (const unsigned char *)pointer - sizeof header, sizeof header);
    return header >= TAU_SPILL_LARGE_BYTES;
}

static __attribute__((noinline)) void empty_large(void *pointer) {
    if (tau_tlsf_check_pointer(tau_heap.spill, pointer) == TAU_OK) {
        tau_spill_give_back(pointer, tau_heap_usable(pointer));
    }
}

// The call has entered.
static inline void free_entered(void *pointer) {
    if (tau_heap_is_planned(pointer)) {
        (void)tau_budget_free(tau_heap.planned, pointer);
    } else if (TAU_LIKELY(tau_heap_is_spilled(pointer))) {
        if (TAU_UNLIKELY(is_large(pointer))) {
            empty_large(pointer);
        }
        (void)tau_tlsf_free(tau_heap.spill, pointer);
        tau_spill_return_if_due();
    } else if (!tau_colors_free(pointer)) {
        refuse_foreign(pointer);
    }
    tau_lock_leave();
}

static __attribute__((noinline)) void free_shared(void *pointer) {
    if (TAU_UNLIKELY(!tau_calls_enter_planned())) {
        tau_nested_calls_free(pointer);
        return;
    }
    free_entered(pointer);
}

// Without a plan, or before it is known.
static __attribute__((noinline)) void free_unplanned(void *pointer) {
    if (TAU_UNLIKELY(!tau_calls_enter())) {
        tau_nested_calls_free(pointer);
    } else if (tau_magazines_are_on && tau_heap_is_spilled(pointer) &&
               tau_magazines_take_back(pointer)) {
        tau_spill_return_if_due();
        tau_lock_leave();
    } else {
        free_entered(pointer);
    }
}

static __attribute__((noinline)) void free_planned(void *pointer) {
    if (TAU_UNLIKELY(!tau_lock_enter_alone())) {
        free_shared(pointer);
        return;
    }
    if (tau_heap_is_planned(pointer)) {
        (void)tau_unlocked_budget_free(tau_heap.planned, pointer);
    } else if (TAU_LIKELY(tau_heap_is_spilled(pointer))) {
        if (TAU_UNLIKELY(is_large(pointer))) {
            empty_large(pointer);
        }
        (void)tau_unlocked_tlsf_free(tau_heap.spill, pointer);
        tau_spill_return_if_due();
    } else {
        refuse_foreign(pointer);
    }
    tau_lock_leave_alone();
}

TAU_EXPORT void free(void *pointer) {
    if (pointer == NULL) {
        return;
    }
    struct tau_magazines *const magazines = tau_magazines_mine;
    const uint8_t state = magazines->state;
    if (TAU_LIKELY(state == TAU_MAGAZINES_OPEN)) {
        if (TAU_UNLIKELY(!tau_magazines_put(magazines, pointer))) {
            free_unplanned(pointer);
        }
    } else if (state == TAU_MAGAZINES_PLANNED) {
        free_planned(pointer);
    } else {
        free_unplanned(pointer);
    }
}

TAU_EXPORT void free_sized(void *pointer, size_t size) {
    (void)size;
    free(pointer);
}

TAU_EXPORT void free_aligned_sized(void *pointer, size_t alignment, size_t size) {
    (void)alignment;
    (void)size;
    free(pointer);
}

// ---- Resizing ----

// Its heap has no room for more: the object goes to the spill heap, if that can grow.
static void *move_to_spill(void *pointer, size_t size, uintptr_t site) {
    const size_t old_bytes = tau_heap_usable(pointer);
    void *const copy = tau_heap_spill(16, size, site);
    if (copy != NULL) {
        memcpy(copy, pointer, old_bytes < size ? old_bytes : size);
        if (tau_heap_is_planned(pointer)) {
            (void)tau_budget_free(tau_heap.planned, pointer);
        } else {
            (void)tau_tlsf_free(tau_heap.spill, pointer);
        }
    }
    return copy;
}

// From one magazine to another, or in its block, if both sizes have one. Else NULL.
static void *resize_small(void *pointer, size_t size) {
    struct tau_magazines *const mine = tau_magazines_mine;
    const unsigned long class = tau_magazines_class_at(pointer);
    if (mine->state != TAU_MAGAZINES_OPEN || class >= TAU_MAGAZINES_CLASSES ||
        size > TAU_MAGAZINES_OBJECT_MAX_BYTES) {
        return NULL;
    }
    if (class == tau_magazines_class_of(size)) {
        mine->calls++;
        return pointer;
    }
    void *moved = tau_magazines_take(mine, size);
    moved = moved != NULL ? moved : tau_magazines_allocate(size);
    if (moved != NULL) {
        const size_t old_bytes = 16 * class + 8;
        memcpy(moved, pointer, old_bytes < size ? old_bytes : size);
        (void)tau_magazines_take_back(pointer);
    }
    return moved;
}

// An object at the end of the heap grows in place if the heap can grow by the difference.
static void *resize_spilled(void *pointer, size_t size, uintptr_t site) {
    if (tau_magazines_are_on && tau_magazines_hold_freed(pointer)) {
        tau_magazines_stop(pointer);
    }
    void *moved = resize_small(pointer, size);
    if (TAU_LIKELY(moved != NULL)) {
        return moved;
    }
    const bool is_large_object =
        is_large(pointer) && tau_tlsf_check_pointer(tau_heap.spill, pointer) == TAU_OK;
    const size_t old_bytes = is_large_object ? tau_heap_usable(pointer) : 0;
    if (TAU_UNLIKELY(is_large_object) && size < old_bytes) {  // nobody else has it yet
        tau_spill_give_back((char *)pointer + size, old_bytes - size);
    }
    moved = tau_tlsf_realloc(tau_heap.spill, pointer, size);
    if (TAU_UNLIKELY(moved == NULL) && is_large_object && size > old_bytes &&
        tau_spill_grow(TAU_ALIGNMENT, size - old_bytes)) {
        moved = tau_tlsf_realloc(tau_heap.spill, pointer, size);
    }
    moved = moved != NULL ? moved : move_to_spill(pointer, size, site);
    if (TAU_UNLIKELY(is_large_object) && moved != pointer && moved != NULL) {
        (void)tau_spill_wait(tau_spill_changes(), true);
        tau_spill_return();
    }
    return moved;
}

static void *copy_from_boot(const void *pointer, size_t size, uintptr_t site) {
    const size_t old_bytes = tau_boot_size(pointer);
    void *const copy = tau_calls_allocate(size, site);
    if (copy != NULL) {
        memcpy(copy, pointer, old_bytes < size ? old_bytes : size);
    }
    return copy;
}

static void *resize(void *pointer, size_t size, uintptr_t site) {
    if (pointer == NULL) {
        return tau_calls_allocate(size, site);
    }
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    if (TAU_UNLIKELY(tau_boot_owns(pointer))) {
        return copy_from_boot(pointer, size, site);
    }
    if (!tau_calls_enter()) {
        // A handler interrupted the allocator: it cannot be resized now.
        return tau_heap_refuse(size, site, false);
    }
    void *moved;
    if (tau_heap_is_planned(pointer)) {
        moved = tau_heap.pools != NULL ? tau_pools_realloc(tau_heap.pools, pointer, size)
                                       : tau_budget_realloc(tau_heap.budget, pointer, size);
        moved = moved != NULL ? moved : move_to_spill(pointer, size, site);
    } else if (tau_colors_owns(pointer)) {
        moved = tau_colors_resize(pointer, size, site);
    } else {
        if (TAU_UNLIKELY(!tau_heap_is_spilled(pointer))) {
            tau_report_stop(pointer, TAU_FOREIGN_POINTER);
        }
        moved = resize_spilled(pointer, size, site);
    }
    tau_lock_leave();
    return moved;
}

TAU_EXPORT void *realloc(void *pointer, size_t size) {
    return resize(pointer, size, TAU_CALLS_SITE);
}

TAU_EXPORT void *reallocarray(void *pointer, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        bytes = SIZE_MAX;  // refused, and counted
    }
    return resize(pointer, bytes, TAU_CALLS_SITE);
}

// ---- Looking ----

TAU_EXPORT size_t malloc_usable_size(void *pointer) {
    if (tau_heap_is_planned(pointer) || tau_heap_is_spilled(pointer)) {
        return tau_heap_usable(pointer);
    }
    return tau_boot_owns(pointer) ? tau_boot_size(pointer) : tau_colors_usable(pointer);
}

// ---- What the C library's calls tell of its own heap, told of ours ----

// The heaps' bytes: those in use, and all that were ever taken.
static bool measure(size_t *used_bytes, size_t *taken_bytes) {
    *used_bytes = 0;
    *taken_bytes = 0;
    if (!tau_calls_enter()) {
        return false;
    }
    if (tau_heap.planned != NULL) {
        *taken_bytes = tau_heap.planned_bytes;
        const struct tau_budget_statistics planned = tau_budget_statistics(tau_heap.planned);
        *used_bytes = planned.shared.used_bytes;
        for (size_t index = 0; index < planned.classes_count; index++) {
            const struct tau_budget_class_statistics class =
                tau_budget_class_statistics(tau_heap.planned, index);
            *used_bytes += (size_t) class.size_bytes * class.used_count;
        }
    }
    if (tau_heap.spill != NULL) {
        const struct tau_tlsf_statistics spill = tau_tlsf_statistics(tau_heap.spill);
        *taken_bytes += tau_heap_spill_peak(spill.peak_used_bytes);
        const size_t kept_bytes = tau_magazines_bytes();
        *used_bytes += spill.used_bytes > kept_bytes ? spill.used_bytes - kept_bytes : 0;
    }
    tau_lock_leave();
    return true;
}

TAU_EXPORT struct mallinfo2 mallinfo2(void) {
    struct mallinfo2 info = {0};
    if (measure(&info.uordblks, &info.arena)) {
        info.fordblks = info.arena - info.uordblks;
    }
    return info;
}

static int as_int(size_t value) {
    return value > (size_t)INT32_MAX ? INT32_MAX : (int)value;
}

TAU_EXPORT struct mallinfo mallinfo(void) {
    const struct mallinfo2 info = mallinfo2();
    return (struct mallinfo){
        .arena = as_int(info.arena),
        .uordblks = as_int(info.uordblks),
        .fordblks = as_int(info.fordblks),
    };
}

TAU_EXPORT void malloc_stats(void) {
    const struct mallinfo2 info = mallinfo2();
    (void)fprintf(stderr, "Arena 0:\nsystem bytes     = %10zu\nin use bytes     = %10zu\n",
                  info.arena, info.uordblks);
}

TAU_EXPORT int malloc_info(int options, FILE *stream) {
    const struct mallinfo2 info = mallinfo2();
    if (options != 0) {
        return EINVAL;
    }
    (void)fprintf(stream,
                  "<malloc version=\"1\">\n<heap nr=\"0\">\n"
                  "<total type=\"rest\" count=\"1\" size=\"%zu\"/>\n"
                  "<system type=\"current\" size=\"%zu\"/>\n</heap>\n</malloc>\n",
                  info.fordblks, info.arena);
    return 0;
}

// What lies in the planned heap stays there: it is what the plan promises.
TAU_EXPORT int malloc_trim(size_t pad) {
    (void)pad;
    if (!tau_calls_enter()) {
        return 0;
    }
    (void)tau_magazines_empty();
    const bool is_given = tau_spill_trim();
    tau_lock_leave();
    return is_given;
}

// Accepted, and without effect.
TAU_EXPORT int mallopt(int parameter, int value) {
    (void)parameter;
    (void)value;
    return 1;
}

// ---- The C library's own names of the same functions ----

#define SAME_AS(name) __attribute__((alias(#name), copy(name), visibility("default")))

SAME_AS(malloc) void *__libc_malloc(size_t size);
SAME_AS(calloc) void *__libc_calloc(size_t count, size_t size);
SAME_AS(realloc) void *__libc_realloc(void *pointer, size_t size);
SAME_AS(free) void __libc_free(void *pointer);
SAME_AS(memalign) void *__libc_memalign(size_t alignment, size_t size);
SAME_AS(valloc) void *__libc_valloc(size_t size);
SAME_AS(pvalloc) void *__libc_pvalloc(size_t size);

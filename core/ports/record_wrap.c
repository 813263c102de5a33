// Records every call of a firmware's heap. Add this one file to the build (it includes record.c),
// and link with the flags in record_wrap.flags, by a linker of GNU's kind:
//
//   gcc … -Itautochrone tautochrone/core/ports/record_wrap.c
//   @tautochrone/core/ports/record_wrap.flags
//
// Works with newlib, newlib-nano, picolibc, and with static Linux programs. Each function of the
// heap is recorded once, as the program called it: with the requested size, and before main too.
// glibc's valloc and pvalloc are not recorded.
// What the library's functions call inside of each other is not recorded a second time.
// A refused request is recorded with its size, call site and task.
//
// Where the recording goes:
// - With -DTAU_RECORD_CAPTURE='"capture.bin"', to that file: through the debugger or QEMU
//   (semihosting) on Cortex-M and RISC-V, and directly on Linux. Times then count rows.
// - Otherwise the firmware defines a constant port. Its write function runs before main if
//   constructors allocate much, and must not allocate itself:
//       const struct tau_record_port tau_record_wrap_port = {uart_send, cycles, UART1, 64000000u};
//
// The end of the recording: exit() writes the last rows and an end mark. A program that never exits
// calls tau_record_wrap_flush() when it is idle. `tau import` warns of a recording without its end.
//
// C++: add record_wrap_new.cpp too, so that call sites are those of new and not inside of it.
//
// Threads: TAU_RECORD_LOCK is held for a whole call, so it must nest. The default on newlib is its
// own lock, __malloc_lock. No interrupt handler may call the heap.
//
// FreeRTOS (heap_1, 2, 4, 5): compile and link with @freertos/record.flags. pvPortMalloc,
// pvPortCalloc and vPortFree are recorded and nothing else is, with the requested size, the call
// site and the task. The scheduler is suspended for each call. traceMALLOC is not used: it passes
// the size of the block, not the size that was requested. docs/ports/freertos.md leads to a plan.
//
// Zephyr: CONFIG_TAUTOCHRONE_RECORD=y adds this file (docs/ports/zephyr.md). Interrupts are locked
// for each call, so they may allocate. tau_record_wrap_flush() writes the last rows.
//
// C++ with core/ports/cpp/tautochrone.hpp: with -DTAU_RECORD_CPP, the calls of that header are
// recorded and nothing else is. Link without the flags.
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef TAU_PORT_HEADER
#include TAU_PORT_HEADER
#endif
#ifdef TAU_RECORD_FREERTOS
#include <FreeRTOS.h>
#include <task.h>
#elif defined(TAU_RECORD_ZEPHYR)
#include "core/ports/zephyr/record_lock_inline.h"
#else
#include <malloc.h>
#if defined(__NEWLIB__) && !defined(__PICOLIBC__)
#define RECORD_HAS_REENTRANT_FORMS
#include <reent.h>
#endif
#endif
#ifndef TAU_RECORD_LOCK
#ifdef TAU_RECORD_FREERTOS
#define TAU_RECORD_LOCK(record) ((void)(record), vTaskSuspendAll())
#define TAU_RECORD_UNLOCK(record) ((void)(record), (void)xTaskResumeAll())
#elif defined(RECORD_HAS_REENTRANT_FORMS)
#define TAU_RECORD_LOCK(record) ((void)(record), __malloc_lock(_REENT))
#define TAU_RECORD_UNLOCK(record) ((void)(record), __malloc_unlock(_REENT))
#endif
#endif

#include "record.c"

void tau_record_wrap_flush(void);

#if defined(TAU_RECORD_FREERTOS)
#define RECORD_REAL_FREE __real_vPortFree
#elif defined(TAU_RECORD_ZEPHYR)
#define RECORD_REAL_FREE __real_k_free
#elif defined(TAU_RECORD_CPP)
#define RECORD_REAL_FREE free
#else
#define RECORD_REAL_FREE __real_free
#endif
void RECORD_REAL_FREE(void *object);

// ---- Where the recording goes ----

#ifndef TAU_RECORD_CAPTURE
extern const struct tau_record_port tau_record_wrap_port;
#else
#include "core/ports/record_capture.h"

static const struct tau_record_port tau_record_wrap_port = {record_capture, NULL, NULL, 0};
#endif

// ---- Calls ----

static struct tau_record record_state;
static bool record_is_started;
// Calls of the heap that are under way, one inside the other. Only the outer one is the program's.
static unsigned int record_depth;

// A number that another link of the firmware rarely has: tau who compares it with the ELF file's.
// The linker's names for the ends of code and data, where its script has them.
extern const char record_etext[] __asm__("etext") __attribute__((weak));
extern const char record_etext_1[] __asm__("_etext") __attribute__((weak));
extern const char record_etext_2[] __asm__("__etext") __attribute__((weak));
extern const char record_end[] __asm__("end") __attribute__((weak));
extern const char record_end_1[] __asm__("_end") __attribute__((weak));

static uint32_t record_image(void) {
    const uintptr_t addresses[] = {
        (uintptr_t)tau_record_start, (uintptr_t)RECORD_REAL_FREE, (uintptr_t)record_etext,
        (uintptr_t)record_etext_1,   (uintptr_t)record_etext_2,   (uintptr_t)record_end,
        (uintptr_t)record_end_1,
    };
    uint32_t hash = 0x811c9dc5u;  // FNV-1a, a word at a time
    for (unsigned int i = 0; i < sizeof addresses / sizeof *addresses; i++) {  // bound: 7
        hash = (hash ^ (uint32_t)addresses[i]) * 0x01000193u;
    }
    return hash == 0 ? 1 : hash;
}

#ifndef TAU_RECORD_ZEPHYR
static void record_finish(void);
#endif

static bool record_enter(void) {
    TAU_RECORD_LOCK(&record_state);
    if (!record_is_started) {
        record_is_started = true;
        record_depth = 1;  // what atexit and the port's functions allocate is not recorded
#ifdef TAU_RECORD_CAPTURE
        record_capture(NULL, "", 0);  // an earlier run's file is empty from here on
#endif
#ifndef TAU_RECORD_ZEPHYR
        (void)atexit(record_finish);
#endif
        tau_record_start(&record_state, &tau_record_wrap_port);
        tau_record_image(&record_state, record_image());
        record_depth = 0;
    }
    return record_depth++ == 0;
}

static void record_leave(void) {
    record_depth--;
    TAU_RECORD_UNLOCK(&record_state);
}

void tau_record_wrap_flush(void) {
    if (record_enter()) {
        tau_record_flush(&record_state);
    }
    record_leave();
}

#ifndef TAU_RECORD_ZEPHYR
// The program's last rows. By atexit before the destructors of .fini_array, and as the last of
// these if the start-up code and the linker script have them: the second mark does no harm.
__attribute__((destructor(101))) static void record_finish(void) {
    if (record_enter()) {
        tau_record_end(&record_state);
    }
    record_leave();
}
#endif

#define RECORD_CALLER ((uintptr_t)__builtin_return_address(0))

#if defined(TAU_RECORD_ZEPHYR) ||                                                                  \
    (defined(TAU_RECORD_FREERTOS) &&                                                               \
     (INCLUDE_xTaskGetCurrentTaskHandle == 1 || configUSE_MUTEXES == 1))
// Tasks with a number of their own. All others share the last one.
#ifndef TAU_RECORD_TASKS
#define TAU_RECORD_TASKS 32u
#endif
// Task 1 … in the order of their first calls: for a debugger, too.
static const void *record_tasks[TAU_RECORD_TASKS];

// The task that calls; NULL before the scheduler starts, and in an interrupt.
static const void *record_current_task(void) {
#ifdef TAU_RECORD_ZEPHYR
    return k_is_pre_kernel() || k_is_in_isr() ? NULL : k_current_get();
#else
#if INCLUDE_xTaskGetSchedulerState == 1 || configUSE_TIMERS == 1
    if (xTaskGetSchedulerState() == taskSCHEDULER_NOT_STARTED) {
        return NULL;
    }
#endif
    return xTaskGetCurrentTaskHandle();
#endif
}

// Tells the recorder which task calls. A task in the memory of a deleted one has that one's number.
static void record_note_task(void) {
    const void *const task = record_current_task();
    uint32_t index = 0;
    if (task == NULL) {
        tau_record_thread(&record_state, 0);
        return;
    }
    while (index + 1 < TAU_RECORD_TASKS && record_tasks[index] != NULL &&
           record_tasks[index] != task) {  // bound: TAU_RECORD_TASKS
        index++;
    }
    record_tasks[index] = task;
    tau_record_thread(&record_state, index + 1);
}
#else
#define record_note_task() ((void)0)
#endif

enum record_kind { RECORD_PLAIN, RECORD_ZEROED, RECORD_ALIGNED };

// Records a new object, or that there is none, if the call IS_OUTER, and ends the call.
static void *record_made(bool is_outer, enum record_kind kind, void *object, size_t size,
                         size_t alignment, uintptr_t caller) {
    if (is_outer) {
        const uintptr_t address = (uintptr_t)object;
        record_note_task();
        if (object == NULL) {
            tau_record_refused(&record_state, size, caller);
        } else if (kind == RECORD_ALIGNED) {
            tau_record_aligned_alloc(&record_state, address, size, alignment, caller);
        } else if (kind == RECORD_ZEROED) {
            tau_record_calloc(&record_state, address, size, caller);
        } else {
            tau_record_malloc(&record_state, address, size, caller);
        }
    }
    record_leave();
    return object;
}

static void record_note_free(bool is_outer, const void *object, uintptr_t caller) {
    if (is_outer && object != NULL) {
        record_note_task();
        tau_record_free(&record_state, (uintptr_t)object, caller);
    }
}

#ifdef TAU_RECORD_FREERTOS

void *__real_pvPortMalloc(size_t size);
void *__wrap_pvPortMalloc(size_t size);
void *__wrap_pvPortCalloc(size_t count, size_t size);
void __wrap_vPortFree(void *object);

void *__wrap_pvPortMalloc(size_t size) {
    const bool is_outer = record_enter();
    return record_made(is_outer, RECORD_PLAIN, __real_pvPortMalloc(size), size, 0, RECORD_CALLER);
}

// Kernels before 10.5 have no pvPortCalloc to call.
void *__wrap_pvPortCalloc(size_t count, size_t size) {
    const size_t bytes = count * size;
    if (size != 0 && bytes / size != count) {
        return NULL;
    }
    const bool is_outer = record_enter();
    void *object =
        record_made(is_outer, RECORD_ZEROED, __real_pvPortMalloc(bytes), bytes, 0, RECORD_CALLER);
    return object == NULL ? NULL : memset(object, 0, bytes);
}

void __wrap_vPortFree(void *object) {
    record_note_free(record_enter(), object, RECORD_CALLER);
    __real_vPortFree(object);
    record_leave();
}

#elif defined(TAU_RECORD_ZEPHYR)
#include "core/ports/zephyr/record_calls_inline.h"
#elif defined(TAU_RECORD_CPP)

void *tau_record_wrap_malloc(size_t size, const void *caller);
void *tau_record_wrap_aligned_alloc(size_t alignment, size_t size, const void *caller);
void tau_record_wrap_free(void *object);

// A CALLER of NULL is the one of this function.
void *tau_record_wrap_malloc(size_t size, const void *caller) {
    const uintptr_t site = caller != NULL ? (uintptr_t)caller : RECORD_CALLER;
    const bool is_outer = record_enter();
    return record_made(is_outer, RECORD_PLAIN, malloc(size), size, 0, site);
}

void *tau_record_wrap_aligned_alloc(size_t alignment, size_t size, const void *caller) {
    const uintptr_t site = caller != NULL ? (uintptr_t)caller : RECORD_CALLER;
    const bool is_outer = record_enter();
    void *object = memalign(alignment, size);
    return record_made(is_outer, RECORD_ALIGNED, object, size, alignment, site);
}

void tau_record_wrap_free(void *object) {
    record_note_free(record_enter(), object, RECORD_CALLER);
    free(object);
    record_leave();
}

#else

// ---- The functions of C ----

static void record_note_realloc(bool is_outer, const void *old, uintptr_t caller) {
    if (is_outer && old != NULL) {
        tau_record_realloc_begin(&record_state, (uintptr_t)old, caller);
    }
}

static void *record_resized(bool is_outer, const void *old, void *object, size_t size,
                            uintptr_t caller) {
    if (old == NULL) {
        return record_made(is_outer, RECORD_PLAIN, object, size, 0, caller);
    }
    if (is_outer) {
        tau_record_realloc_end(&record_state, (uintptr_t)object, size, caller);
        if (object == NULL && size != 0) {
            tau_record_refused(&record_state, size, caller);
        }
    }
    record_leave();
    return object;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_memalign(size_t alignment, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
void __wrap_free(void *object);
void __wrap_cfree(void *object);
void *__wrap_memalign(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **object, size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
    const bool is_outer = record_enter();
    return record_made(is_outer, RECORD_PLAIN, __real_malloc(size), size, 0, RECORD_CALLER);
}

// What is too large for a number is refused.
static size_t record_product(size_t count, size_t size) {
    return size != 0 && count > SIZE_MAX / size ? SIZE_MAX : count * size;
}

void *__wrap_calloc(size_t count, size_t size) {
    const bool is_outer = record_enter();
    return record_made(is_outer, RECORD_ZEROED, __real_calloc(count, size),
                       record_product(count, size), 0, RECORD_CALLER);
}

static void *record_resize(void *old, size_t size, uintptr_t caller) {
    const bool is_outer = record_enter();
    record_note_realloc(is_outer, old, caller);
    return record_resized(is_outer, old, __real_realloc(old, size), size, caller);
}

void *__wrap_realloc(void *old, size_t size) {
    return record_resize(old, size, RECORD_CALLER);
}

// Not every library has this function, nor posix_memalign.
void *__wrap_reallocarray(void *old, size_t count, size_t size) {
    const size_t bytes = count * size;
    if (size != 0 && bytes / size != count) {
        errno = ENOMEM;
        return NULL;
    }
    return record_resize(old, bytes, RECORD_CALLER);
}

void __wrap_free(void *object) {
    record_note_free(record_enter(), object, RECORD_CALLER);
    __real_free(object);
    record_leave();
}

// In picolibc another name of free, which free's flag does not reach.
void __wrap_cfree(void *object) {
    record_note_free(record_enter(), object, RECORD_CALLER);
    __real_free(object);
    record_leave();
}

static void *record_aligned(size_t alignment, size_t size, uintptr_t caller) {
    const bool is_outer = record_enter();
    return record_made(is_outer, RECORD_ALIGNED, __real_memalign(alignment, size), size, alignment,
                       caller);
}

void *__wrap_memalign(size_t alignment, size_t size) {
    return record_aligned(alignment, size, RECORD_CALLER);
}

// Not by memalign, which calls this one in some libraries.
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    const bool is_outer = record_enter();
    void *object = __real_aligned_alloc(alignment, size);
    return record_made(is_outer, RECORD_ALIGNED, object, size, alignment, RECORD_CALLER);
}

int __wrap_posix_memalign(void **object, size_t alignment, size_t size) {
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) {
        return EINVAL;
    }
    const int kept = errno;
    void *new_object = record_aligned(alignment, size, RECORD_CALLER);
    errno = kept;
    if (new_object == NULL) {
        return ENOMEM;
    }
    *object = new_object;
    return 0;
}

// ---- Functions that allocate for their caller ----

char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length_max);
void *tau_record_wrap_new(size_t size, size_t alignment, const void *caller);
void tau_record_wrap_delete(void *object, const void *caller);

static char *record_copy(const char *text, size_t length, uintptr_t caller) {
    const bool is_outer = record_enter();
    char *copy =
        record_made(is_outer, RECORD_PLAIN, __real_malloc(length + 1), length + 1, 0, caller);
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *__wrap_strdup(const char *text) {
    return record_copy(text, strlen(text), RECORD_CALLER);
}

char *__wrap_strndup(const char *text, size_t length_max) {
    const char *end = memchr(text, '\0', length_max);
    return record_copy(text, end == NULL ? length_max : (size_t)(end - text), RECORD_CALLER);
}

// For record_wrap_new.cpp. An ALIGNMENT of 0 is the one that malloc gives.
void *tau_record_wrap_new(size_t size, size_t alignment, const void *caller) {
    const bool is_outer = record_enter();
    void *object = alignment == 0 ? __real_malloc(size) : __real_memalign(alignment, size);
    return record_made(is_outer, alignment == 0 ? RECORD_PLAIN : RECORD_ALIGNED, object, size,
                       alignment, (uintptr_t)caller);
}

void tau_record_wrap_delete(void *object, const void *caller) {
    record_note_free(record_enter(), object, (uintptr_t)caller);
    __real_free(object);
    record_leave();
}

#ifdef RECORD_HAS_REENTRANT_FORMS

// ---- newlib's own calls: printf, strdup, fopen, … ----

void *__real__malloc_r(struct _reent *task, size_t size);
void *__real__calloc_r(struct _reent *task, size_t count, size_t size);
void *__real__realloc_r(struct _reent *task, void *old, size_t size);
void __real__free_r(struct _reent *task, void *object);
void *__real__memalign_r(struct _reent *task, size_t alignment, size_t size);
void *__wrap__malloc_r(struct _reent *task, size_t size);
void *__wrap__calloc_r(struct _reent *task, size_t count, size_t size);
void *__wrap__realloc_r(struct _reent *task, void *old, size_t size);
void __wrap__free_r(struct _reent *task, void *object);
void *__wrap__memalign_r(struct _reent *task, size_t alignment, size_t size);

void *__wrap__malloc_r(struct _reent *task, size_t size) {
    const bool is_outer = record_enter();
    return record_made(is_outer, RECORD_PLAIN, __real__malloc_r(task, size), size, 0,
                       RECORD_CALLER);
}

void *__wrap__calloc_r(struct _reent *task, size_t count, size_t size) {
    const bool is_outer = record_enter();
    return record_made(is_outer, RECORD_ZEROED, __real__calloc_r(task, count, size),
                       record_product(count, size), 0, RECORD_CALLER);
}

void *__wrap__realloc_r(struct _reent *task, void *old, size_t size) {
    const bool is_outer = record_enter();
    record_note_realloc(is_outer, old, RECORD_CALLER);
    return record_resized(is_outer, old, __real__realloc_r(task, old, size), size, RECORD_CALLER);
}

void __wrap__free_r(struct _reent *task, void *object) {
    record_note_free(record_enter(), object, RECORD_CALLER);
    __real__free_r(task, object);
    record_leave();
}

void *__wrap__memalign_r(struct _reent *task, size_t alignment, size_t size) {
    const bool is_outer = record_enter();
    void *object = __real__memalign_r(task, alignment, size);
    return record_made(is_outer, RECORD_ALIGNED, object, size, alignment, RECORD_CALLER);
}
#endif
#endif

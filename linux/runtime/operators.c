// operator new and delete of C++, in all forms. new asks the new-handler and throws as the C++
// library of the program does; it is looked up only then.
#include <stdlib.h>

#include "linux/interpose/look_up.h"
#include "linux/interpose/machine.h"
#include "linux/runtime/calls.h"

typedef void handler(void);
typedef handler *find_handler(void);

static void *function_of(const char *name, uintptr_t site) {
    void *const found = tau_look_up_next(name);
    return found != NULL ? found : tau_look_up_for(name, (const void *)site);
}

// Asks the handlers until memory is found; without one throws, or returns NULL if IS_NOTHROW.
static __attribute__((noinline, cold)) void *ask(size_t alignment, size_t size_bytes,
                                                 bool is_nothrow, uintptr_t site) {
    find_handler *find;
    handler *raise;
    *(void **)&find = function_of("_ZSt15get_new_handlerv", site);
    for (;;) {
        handler *const current = find != NULL ? find() : NULL;
        if (current == NULL) {
            break;
        }
        current();
        void *const pointer = tau_calls_allocate_aligned(alignment, size_bytes, site);
        if (pointer != NULL) {
            return pointer;
        }
    }
    if (is_nothrow) {
        return NULL;
    }
    *(void **)&raise = function_of("_ZSt17__throw_bad_allocv", site);
    if (raise != NULL) {
        raise();
    }
    abort();
}

static inline __attribute__((always_inline)) void *make(size_t alignment, size_t size_bytes,
                                                        bool is_nothrow, uintptr_t site) {
    void *const pointer = alignment <= 16 ? tau_calls_allocate(size_bytes, site)
                                          : tau_calls_allocate_aligned(alignment, size_bytes, site);
    return TAU_LIKELY(pointer != NULL) ? pointer : ask(alignment, size_bytes, is_nothrow, site);
}

#define OPERATOR(RESULT, FUNCTION, NAME, PARAMETERS)                                               \
    TAU_EXPORT RESULT FUNCTION PARAMETERS __asm__(NAME);                                           \
    RESULT FUNCTION PARAMETERS
#define NEW(FUNCTION, NAME, ALIGNMENT, IS_NOTHROW, PARAMETERS)                                     \
    OPERATOR(void *, FUNCTION, NAME, PARAMETERS) {                                                 \
        return make(ALIGNMENT, size, IS_NOTHROW, TAU_CALLS_SITE);                                  \
    }
#define DELETE(FUNCTION, NAME, PARAMETERS)                                                         \
    OPERATOR(void, FUNCTION, NAME, PARAMETERS) {                                                   \
        free(pointer);                                                                             \
    }
#define SIZE_T TAU_MACHINE_SIZE_LETTER
#define NOTHROW __attribute__((unused)) const void *nothrow
#define SIZE __attribute__((unused)) size_t size
#define ALIGN __attribute__((unused)) size_t alignment

NEW(new_one, "_Znw" SIZE_T, 16, false, (size_t size))
NEW(new_many, "_Zna" SIZE_T, 16, false, (size_t size))
NEW(new_one_nothrow, "_Znw" SIZE_T "RKSt9nothrow_t", 16, true, (size_t size, NOTHROW))
NEW(new_many_nothrow, "_Zna" SIZE_T "RKSt9nothrow_t", 16, true, (size_t size, NOTHROW))
NEW(new_one_aligned, "_Znw" SIZE_T "St11align_val_t", alignment, false,
    (size_t size, size_t alignment))
NEW(new_many_aligned, "_Zna" SIZE_T "St11align_val_t", alignment, false,
    (size_t size, size_t alignment))
NEW(new_one_aligned_nothrow, "_Znw" SIZE_T "St11align_val_tRKSt9nothrow_t", alignment, true,
    (size_t size, size_t alignment, NOTHROW))
NEW(new_many_aligned_nothrow, "_Zna" SIZE_T "St11align_val_tRKSt9nothrow_t", alignment, true,
    (size_t size, size_t alignment, NOTHROW))

DELETE(delete_one, "_ZdlPv", (void *pointer))
DELETE(delete_many, "_ZdaPv", (void *pointer))
DELETE(delete_one_sized, "_ZdlPv" SIZE_T, (void *pointer, SIZE))
DELETE(delete_many_sized, "_ZdaPv" SIZE_T, (void *pointer, SIZE))
DELETE(delete_one_nothrow, "_ZdlPvRKSt9nothrow_t", (void *pointer, NOTHROW))
DELETE(delete_many_nothrow, "_ZdaPvRKSt9nothrow_t", (void *pointer, NOTHROW))
DELETE(delete_one_aligned, "_ZdlPvSt11align_val_t", (void *pointer, ALIGN))
DELETE(delete_many_aligned, "_ZdaPvSt11align_val_t", (void *pointer, ALIGN))
DELETE(delete_one_sized_aligned, "_ZdlPv" SIZE_T "St11align_val_t", (void *pointer, SIZE, ALIGN))
DELETE(delete_many_sized_aligned, "_ZdaPv" SIZE_T "St11align_val_t", (void *pointer, SIZE, ALIGN))
DELETE(delete_one_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t",
       (void *pointer, ALIGN, NOTHROW))
DELETE(delete_many_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t",
       (void *pointer, ALIGN, NOTHROW))

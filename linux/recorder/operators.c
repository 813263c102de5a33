// operator new and delete of C++.
//
// Operators of the C++ library call malloc and free; these calls are recorded, with the operator's
// caller as site. Most operators of an allocator (jemalloc, mimalloc, tcmalloc) call neither, so
// this file writes the row. In both cases the real operator is called, so it throws and calls the
// new-handler as without the recorder. No call is under way meanwhile, so allocations of a handler
// or an exception are recorded.
//
// A program that replaces operators in its executable keeps them: these here are not called.
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "linux/interpose/family.h"
#include "linux/interpose/look_up.h"
#include "linux/interpose/machine.h"
#include "linux/recorder/call.h"

// Operators by their parameters. SIZED is a size, ALIGNED an alignment, NOTHROW std::nothrow.
typedef void *new_plain(size_t size);
typedef void *new_nothrow(size_t size, const void *nothrow);
typedef void *new_aligned(size_t size, size_t alignment);
typedef void *new_aligned_nothrow(size_t size, size_t alignment, const void *nothrow);
typedef void delete_plain(void *pointer);
typedef void delete_sized(void *pointer, size_t size);
typedef void delete_nothrow(void *pointer, const void *nothrow);
typedef void delete_aligned(void *pointer, size_t alignment);
typedef void delete_sized_aligned(void *pointer, size_t size, size_t alignment);
typedef void delete_aligned_nothrow(void *pointer, size_t alignment, const void *nothrow);

typedef void any_function(void);

// Where the row of an operator's call is written.
enum rows {
    ROWS_BENEATH = 0,    // by the malloc or free that it calls
    ROWS_UNDECIDED = 1,  // the operator is the allocator's own: its first call shows it
    ROWS_HERE = 2,       // it calls neither malloc nor free
};

// One real operator.
struct cxx_operator {
    const char *name;
    any_function *real;  // NULL: not looked up yet, or not in the global search
    bool searched;
    _Atomic int rows;
};

// ---- Looking up ----

static void *aligned_stand_in(size_t size, size_t alignment) {
    return aligned_alloc(alignment, size);
}

// The program has no C++ library and found only these operators.
static any_function *stand_in(const char *name) {
    if (name[2] == 'd') {
        return (any_function *)free;
    }
    return strstr(name, "align") != NULL ? (any_function *)aligned_stand_in
                                         : (any_function *)malloc;
}

static __attribute__((noinline, cold)) any_function *look_up(struct cxx_operator *one,
                                                             uint64_t site) {
    struct tau_writer_thread *thread = &tau_call_thread;
    const uintptr_t before = thread->inside;
    // An operator that ends in another one leaves our own address behind, not its caller's.
    const uint64_t caller = before == TAU_CALL_OPERATOR ? thread->operator_site : site;
    volatile uintptr_t mark;
    any_function *real;
    tau_family_resolve();
    tau_call_enter(thread, &mark);
    void *found = NULL;
    if (!__atomic_load_n(&one->searched, __ATOMIC_ACQUIRE)) {
        found = tau_look_up_next(one->name);
        *(void **)&real = found;
        // A pool in another library is not an allocator: its own calls of malloc are recorded.
        if (tau_look_up_same_library(found, tau_look_up_next("malloc"))) {
            one->rows = ROWS_UNDECIDED;
        }
        __atomic_store_n(&one->real, real, __ATOMIC_RELEASE);
        __atomic_store_n(&one->searched, true, __ATOMIC_RELEASE);
    } else {
        // Another thread's search may just have found it.
        real = __atomic_load_n(&one->real, __ATOMIC_ACQUIRE);
        found = *(void **)&real;
    }
    if (found == NULL) {
        // Where a C++ library was opened for a plugin only, the global search does not find it:
        // then what the caller was linked with is meant. Another plugin may have another one, and
        // either may be closed, so nothing is kept.
        found = tau_look_up_for(one->name, (const void *)(uintptr_t)caller);
        *(void **)&real = found;
    }
    thread->inside = before;
    return found == NULL ? stand_in(one->name) : real;
}

static inline any_function *real_of(struct cxx_operator *one, uint64_t site) {
    any_function *real = __atomic_load_n(&one->real, __ATOMIC_ACQUIRE);
    return TAU_UNLIKELY(real == NULL) ? look_up(one, site) : real;
}

static inline int rows_of(struct cxx_operator *one) {
    return atomic_load_explicit(&one->rows, memory_order_relaxed);
}

static inline void decide(struct cxx_operator *one, enum rows rows) {
    atomic_store_explicit(&one->rows, rows, memory_order_relaxed);
}

// ---- Calls ----

// Whether the operator that begins at POSITION is an event. SITE becomes the site of the operator
// above it, if there is one: libstdc++'s rare forms call the plain ones by name.
static inline __attribute__((always_inline)) bool begin(struct tau_writer_thread *thread,
                                                        uint64_t *site, uintptr_t position) {
    if (TAU_UNLIKELY(thread->inside)) {
        *site = tau_call_outside(thread, *site, position);
    }
    return *site != 0;
}

// The call beneath, if there is one, is given the operator's SITE.
static inline void give_site(struct tau_writer_thread *thread, uint64_t site) {
    thread->operator_site = site;
    thread->inside = TAU_CALL_OPERATOR;
}

// After the real operator new. While it is undecided it runs as if malloc were beneath it; if none
// was, it makes its objects itself. Once is enough: a new-handler may have called malloc.
static inline __attribute__((always_inline)) void made(struct tau_writer_thread *thread,
                                                       struct cxx_operator *one, void *pointer,
                                                       size_t size, size_t alignment, uint64_t site,
                                                       int rows) {
    volatile uintptr_t mark;
    if (TAU_UNLIKELY(rows == ROWS_UNDECIDED) && thread->inside == TAU_CALL_OPERATOR &&
        pointer != NULL) {
        rows = ROWS_HERE;
        decide(one, ROWS_HERE);
    }
    if (rows == ROWS_HERE) {
        tau_call_enter(thread, &mark);
        tau_call_made(thread, pointer,
                      alignment == 0 ? TAU_RECORD_MALLOC : TAU_RECORD_ALIGNED_ALLOC, size,
                      alignment, site);
    } else if (thread->inside == TAU_CALL_OPERATOR) {
        tau_call_leave(thread);
    }
}

// Before the real operator delete. A row must stand before the place is given up, so an undecided
// one has its row here, and a call of free beneath it is watched for, not recorded.
static inline __attribute__((always_inline)) void going(struct tau_writer_thread *thread,
                                                        const void *pointer,
                                                        volatile uintptr_t *mark, uint64_t site,
                                                        int rows) {
    if (rows == ROWS_BENEATH) {
        give_site(thread, site);
    } else if (pointer != NULL) {
        tau_call_enter(thread, mark);
        tau_call_row(thread, TAU_RECORD_FREE, pointer, 0, 0, site);
        if (TAU_UNLIKELY(rows == ROWS_UNDECIDED)) {
            thread->inside = TAU_CALL_WATCHED;
        }
    }
}

// After it.
static inline __attribute__((always_inline)) void
gone(struct tau_writer_thread *thread, struct cxx_operator *one, const void *pointer, int rows) {
    if (TAU_UNLIKELY(rows == ROWS_UNDECIDED) && pointer != NULL) {
        decide(one, thread->inside == TAU_CALL_WATCHED ? ROWS_HERE : ROWS_BENEATH);
    }
    tau_call_leave(thread);
}

// An operator NAME, exported as FUNCTION: TYPE of the real one, its PARAMETERS and ARGUMENTS.
#define NEW(FUNCTION, NAME, TYPE, PARAMETERS, ARGUMENTS, ALIGNMENT)                                \
    TAU_EXPORT void *FUNCTION PARAMETERS __asm__(NAME);                                            \
    void *FUNCTION PARAMETERS {                                                                    \
        static struct cxx_operator one = {.name = NAME};                                           \
        struct tau_writer_thread *thread = &tau_call_thread;                                       \
        uint64_t site = TAU_CALL_SITE;                                                             \
        TYPE *real = (TYPE *)real_of(&one, site);                                                  \
        if (!begin(thread, &site, TAU_CALL_POSITION)) {                                            \
            return real ARGUMENTS;                                                                 \
        }                                                                                          \
        const int rows = rows_of(&one);                                                            \
        if (rows != ROWS_HERE) {                                                                   \
            give_site(thread, site);                                                               \
        }                                                                                          \
        void *pointer = real ARGUMENTS;                                                            \
        made(thread, &one, pointer, size, ALIGNMENT, site, rows);                                  \
        return pointer;                                                                            \
    }

#define DELETE(FUNCTION, NAME, TYPE, PARAMETERS, ARGUMENTS)                                        \
    TAU_EXPORT void FUNCTION PARAMETERS __asm__(NAME);                                             \
    void FUNCTION PARAMETERS {                                                                     \
        static struct cxx_operator one = {.name = NAME};                                           \
        struct tau_writer_thread *thread = &tau_call_thread;                                       \
        uint64_t site = TAU_CALL_SITE;                                                             \
        TYPE *real = (TYPE *)real_of(&one, site);                                                  \
        volatile uintptr_t mark;                                                                   \
        if (!begin(thread, &site, TAU_CALL_POSITION)) {                                            \
            real ARGUMENTS;                                                                        \
            return;                                                                                \
        }                                                                                          \
        const int rows = rows_of(&one);                                                            \
        going(thread, pointer, &mark, site, rows);                                                 \
        real ARGUMENTS;                                                                            \
        gone(thread, &one, pointer, rows);                                                         \
    }

#define NOTHROW const void *nothrow
#define SIZE_T TAU_MACHINE_SIZE_LETTER

NEW(new_one, "_Znw" SIZE_T, new_plain, (size_t size), (size), 0)
NEW(new_many, "_Zna" SIZE_T, new_plain, (size_t size), (size), 0)
NEW(new_one_nothrow, "_Znw" SIZE_T "RKSt9nothrow_t", new_nothrow, (size_t size, NOTHROW),
    (size, nothrow), 0)
NEW(new_many_nothrow, "_Zna" SIZE_T "RKSt9nothrow_t", new_nothrow, (size_t size, NOTHROW),
    (size, nothrow), 0)
NEW(new_one_aligned, "_Znw" SIZE_T "St11align_val_t", new_aligned, (size_t size, size_t alignment),
    (size, alignment), alignment)
NEW(new_many_aligned, "_Zna" SIZE_T "St11align_val_t", new_aligned, (size_t size, size_t alignment),
    (size, alignment), alignment)
NEW(new_one_aligned_nothrow, "_Znw" SIZE_T "St11align_val_tRKSt9nothrow_t", new_aligned_nothrow,
    (size_t size, size_t alignment, NOTHROW), (size, alignment, nothrow), alignment)
NEW(new_many_aligned_nothrow, "_Zna" SIZE_T "St11align_val_tRKSt9nothrow_t", new_aligned_nothrow,
    (size_t size, size_t alignment, NOTHROW), (size, alignment, nothrow), alignment)

DELETE(delete_one, "_ZdlPv", delete_plain, (void *pointer), (pointer))
DELETE(delete_many, "_ZdaPv", delete_plain, (void *pointer), (pointer))
DELETE(delete_one_sized, "_ZdlPv" SIZE_T, delete_sized, (void *pointer, size_t size),
       (pointer, size))
DELETE(delete_many_sized, "_ZdaPv" SIZE_T, delete_sized, (void *pointer, size_t size),
       (pointer, size))
DELETE(delete_one_nothrow, "_ZdlPvRKSt9nothrow_t", delete_nothrow, (void *pointer, NOTHROW),
       (pointer, nothrow))
DELETE(delete_many_nothrow, "_ZdaPvRKSt9nothrow_t", delete_nothrow, (void *pointer, NOTHROW),
       (pointer, nothrow))
DELETE(delete_one_aligned, "_ZdlPvSt11align_val_t", delete_aligned,
       (void *pointer, size_t alignment), (pointer, alignment))
DELETE(delete_many_aligned, "_ZdaPvSt11align_val_t", delete_aligned,
       (void *pointer, size_t alignment), (pointer, alignment))
DELETE(delete_one_sized_aligned, "_ZdlPv" SIZE_T "St11align_val_t", delete_sized_aligned,
       (void *pointer, size_t size, size_t alignment), (pointer, size, alignment))
DELETE(delete_many_sized_aligned, "_ZdaPv" SIZE_T "St11align_val_t", delete_sized_aligned,
       (void *pointer, size_t size, size_t alignment), (pointer, size, alignment))
DELETE(delete_one_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", delete_aligned_nothrow,
       (void *pointer, size_t alignment, NOTHROW), (pointer, alignment, nothrow))
DELETE(delete_many_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", delete_aligned_nothrow,
       (void *pointer, size_t alignment, NOTHROW), (pointer, alignment, nothrow))

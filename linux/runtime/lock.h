// The one lock of all heaps. With one thread it is a flag; with more it is a futex that hands its
// priority on, and a queue that bounds how often a waiting thread is passed. It also knows that a
// signal handler interrupted a call of the allocator.
#ifndef TAU_LINUX_RUNTIME_LOCK_H
#define TAU_LINUX_RUNTIME_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/single_threaded.h>

#define TAU_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define TAU_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#define TAU_LOCK_ID_MASK 0x3fffffffu  // FUTEX_TID_MASK

// State that the first instructions of a call read. If both are 0 and there is one thread, it may
// go to the heaps. Each is loaded as wide as it is stored: a wider load would wait for the store.
struct tau_lock_gate {
    volatile uint8_t inside;  // the only thread is in a call
    uint32_t closed;          // TAU_LOCK_BUSY, TAU_LOCK_SHARED; a word, which every machine changes
                              // atomically without a library
};

// The heaps do not exist yet, or a handler left frees behind.
#define TAU_LOCK_BUSY 1u
// There was a second thread: from then on for good, calls take the futex.
#define TAU_LOCK_SHARED 2u

// While a thread waits, others may take the lock so many times before it is its turn. Then they
// wait, too.
#define TAU_LOCK_PASSES_MAX 128u

// What all threads write. A thread that has to wait takes the next ticket.
struct tau_lock {
    uint32_t word;    // the futex: 0, or the owner's id, to which the kernel adds bits for waiters
    uint32_t asked;   // the next ticket
    uint32_t turn;    // the oldest ticket whose thread waits; none if it is the next one
    uint32_t passes;  // how often others took the lock since it was this one's turn
};

extern struct tau_lock_gate tau_lock_gate;
extern struct tau_lock tau_lock;
// This thread's id; 0 until it took the lock once.
extern __thread uint32_t tau_lock_my_id;
// Threads that ever called the allocator while there was more than one; the first one counts.
extern _Atomic uint32_t tau_lock_threads;

// Slow paths: a thread's first call, and contention.
void tau_lock_wait(void);
void tau_lock_wake(void);

// Whether this thread holds the lock: then a signal handler calls.
bool tau_lock_is_mine(void);

// Releases the lock if this thread holds it, in the middle of a call: the program ends.
void tau_lock_abandon(void);

// Around fork, in its three places. A handler may fork in the middle of a call.
void tau_lock_before_fork(void);
void tau_lock_after_fork(void);
void tau_lock_in_child(void);

static inline uint32_t tau_lock_closed(void) {
    return __atomic_load_n(&tau_lock_gate.closed, __ATOMIC_RELAXED);
}

// A lone thread enters a call, if it is in none and nothing else is to be done first.
static inline bool tau_lock_enter_alone(void) {
    if (TAU_UNLIKELY((tau_lock_gate.inside | tau_lock_closed()) != 0 ||
                     __libc_single_threaded == 0)) {
        return false;
    }
    tau_lock_gate.inside = 1;
    return true;
}

// One of several threads enters a call, if it is in none. The lock is taken later, by the core.
static inline bool tau_lock_enter_shared(void) {
    return tau_lock_closed() == TAU_LOCK_SHARED &&
           (__atomic_load_n(&tau_lock.word, __ATOMIC_RELAXED) & TAU_LOCK_ID_MASK) != tau_lock_my_id;
}

static inline void tau_lock_leave_alone(void) {
    tau_lock_gate.inside = 0;
}

// With one thread or several, which do not write to what all of them read.
static inline void tau_lock_leave(void) {
    if (TAU_LIKELY(tau_lock_gate.inside != 0)) {
        tau_lock_gate.inside = 0;
    }
}

static inline bool tau_lock_has_waiters(void) {
    return __atomic_load_n(&tau_lock.asked, __ATOMIC_RELAXED) !=
           __atomic_load_n(&tau_lock.turn, __ATOMIC_RELAXED);
}

static inline void tau_lock_take_shared(void) {
    const uint32_t id = tau_lock_my_id;
    uint32_t expected = 0;
    if (TAU_UNLIKELY(id == 0 || tau_lock_has_waiters() ||
                     !__atomic_compare_exchange_n(&tau_lock.word, &expected, id, false,
                                                  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))) {
        tau_lock_wait();
    }
}

static inline void tau_lock_release_shared(void) {
    uint32_t expected = tau_lock_my_id;
    if (TAU_UNLIKELY(!__atomic_compare_exchange_n(&tau_lock.word, &expected, 0, false,
                                                  __ATOMIC_RELEASE, __ATOMIC_RELAXED))) {
        tau_lock_wake();
    }
}

// A lone thread holds the lock for the whole call, others for as long as the core says.
static inline void tau_lock_take(void) {
    if (TAU_UNLIKELY((tau_lock_gate.closed & TAU_LOCK_SHARED) != 0)) {
        tau_lock_take_shared();
    }
}

static inline void tau_lock_release(void) {
    if (TAU_UNLIKELY((tau_lock_gate.closed & TAU_LOCK_SHARED) != 0)) {
        tau_lock_release_shared();
    }
}

#endif

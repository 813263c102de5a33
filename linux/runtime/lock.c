// A futex with priority inheritance, and what fork does to it.
#include "linux/runtime/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "linux/interpose/machine.h"

// Two threads that meet seldom need the kernel: a call is shorter than a system call.
#define SPINS_COUNT 100
// Who sleeps is handed the lock and wakes late, so that others come to sleep, too. So a thread that
// shares the processor fairly lets the owner go on first. A real-time thread sleeps at once: only
// then does the owner have its priority.
#define YIELDS_COUNT 50
#define WAIT_NS 10000000
#define SECOND_NS 1000000000

struct tau_lock_gate tau_lock_gate = {.closed = TAU_LOCK_BUSY};
_Atomic uint32_t tau_lock_threads;

uint32_t tau_lock_word;
__thread uint32_t tau_lock_my_id;
// Whether the fork under way was made by a handler that interrupted the lock's owner.
static bool fork_is_nested;
static bool fork_has_streams;

// The C library's list of streams, which fork locks after all handlers. Its owner may wait for a
// stream, whose owner may wait for the heap, as in getline: so the list comes first. Like fork, a
// lone thread does without. All three are exported, and declared nowhere; the lock's owner may take
// it again.
void _IO_list_lock(void);
void _IO_list_unlock(void);
void _IO_list_resetlock(void);

_Static_assert(TAU_LOCK_ID_MASK == FUTEX_TID_MASK, "the owner's bits are the kernel's");

static bool try_take(uint32_t id) {
    uint32_t expected = 0;
    return __atomic_compare_exchange_n(&tau_lock_word, &expected, id, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static bool spin_and_take(void) {
    for (unsigned spin = 0; spin < SPINS_COUNT; spin++) {
        if (__atomic_load_n(&tau_lock_word, __ATOMIC_RELAXED) == 0 && try_take(tau_lock_my_id)) {
            return true;
        }
        tau_machine_pause();
    }
    return false;
}

static bool is_fair(void) {
    const int policy = sched_getscheduler(0);
    return policy != SCHED_FIFO && policy != SCHED_RR && policy != SCHED_DEADLINE;
}

// The end of one wait in the kernel. An owner whose id is not its own cannot wake who sleeps: a
// child of vfork has its parent's, and so has one of a clone without fork handlers.
static struct timespec soon(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += WAIT_NS;
    if (time.tv_nsec >= SECOND_NS) {
        time.tv_nsec -= SECOND_NS;
        time.tv_sec++;
    }
    return time;
}

// A kernel without such futexes has no inheritance either: then the lock is polled.
__attribute__((cold)) void tau_lock_wait(void) {
    const int error = errno;
    if (tau_lock_my_id == 0) {
        tau_lock_my_id = (uint32_t)syscall(SYS_gettid);
        __atomic_fetch_add(&tau_lock_threads, 1, __ATOMIC_RELAXED);
    }
    bool is_taken = spin_and_take();
    for (unsigned yield = 0; !is_taken && yield < YIELDS_COUNT && is_fair(); yield++) {
        sched_yield();
        is_taken = spin_and_take();
    }
    if (is_taken) {
        errno = error;
        return;
    }
    struct timespec until = soon();
    while (syscall(SYS_futex, &tau_lock_word, FUTEX_LOCK_PI_PRIVATE, 0, &until, NULL, 0) != 0) {
        sched_yield();
        if (try_take(tau_lock_my_id)) {
            break;
        }
        until = soon();
    }
    errno = error;
}

__attribute__((cold)) void tau_lock_wake(void) {
    const int error = errno;
    if (syscall(SYS_futex, &tau_lock_word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0) != 0) {
        __atomic_store_n(&tau_lock_word, 0,
                         __ATOMIC_RELEASE);  // no such futexes, or not the owner it knows
    }
    errno = error;
}

bool tau_lock_is_mine(void) {
    const uint32_t owner = __atomic_load_n(&tau_lock_word, __ATOMIC_RELAXED) & FUTEX_TID_MASK;
    return tau_lock_gate.inside != 0 || (owner != 0 && owner == tau_lock_my_id);
}

void tau_lock_abandon(void) {
    if (tau_lock_gate.inside == 0 && tau_lock_is_mine()) {
        tau_lock_release_shared();
    }
}

void tau_lock_before_fork(void) {
    const bool is_nested = tau_lock_is_mine();
    const bool has_streams = !is_nested && __libc_single_threaded == 0;
    if (has_streams) {
        _IO_list_lock();
    }
    if (!is_nested) {
        tau_lock_take_shared();
    }
    fork_is_nested = is_nested;
    fork_has_streams = has_streams;
}

void tau_lock_after_fork(void) {
    const bool has_streams = fork_has_streams;  // until the next fork, which waits for the lock
    if (!fork_is_nested) {
        tau_lock_release_shared();
    }
    if (has_streams) {
        _IO_list_unlock();
    }
}

// A child that has to hold no lock learns its id when it takes one: until then it may have become
// another process by a clone that runs no fork handlers.
void tau_lock_in_child(void) {
    const bool is_owner = fork_is_nested && tau_lock_gate.inside == 0;
    tau_lock_my_id = is_owner ? (uint32_t)syscall(SYS_gettid) : 0;
    __atomic_store_n(&tau_lock_threads, is_owner, __ATOMIC_RELAXED);
    __atomic_store_n(&tau_lock_word, tau_lock_my_id, __ATOMIC_RELAXED);
    if (fork_has_streams) {
        _IO_list_resetlock();
    }
}

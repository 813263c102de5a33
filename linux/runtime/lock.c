// A futex with priority inheritance, the queue before it, and what fork does to them.
#include "linux/runtime/lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "linux/interpose/machine.h"

// Two threads that meet seldom need the kernel: a call is shorter than a system call.
#define SPINS_COUNT 100
// Who sleeps is handed the lock and wakes late, so that others come to sleep, too. So a thread that
// shares the processor fairly lets others go on first, and is passed meanwhile.
#define YIELDS_COUNT 50
#define WAIT_NS 10000000
// Who does not come for so long while it has the turn loses it: its handler may wait for another
// thread, or it left by a long jump.
#define TURN_S 1
#define SECOND_NS 1000000000
// Tickets that may be out at a time and have a turn. Who has a later one waits for that first.
#define TICKETS_MAX 1024u
#define BITS 32u  // of a futex: who waits for one wakes no other

struct tau_lock_gate tau_lock_gate = {.closed = TAU_LOCK_BUSY};
_Atomic uint32_t tau_lock_threads;

_Alignas(64) struct tau_lock tau_lock;
__thread uint32_t tau_lock_my_id;
static _Atomic uint32_t sleepers;  // threads that sleep until it is their turn
// This thread wakes the one whose turn it is when it releases the lock.
static __thread bool is_wake_due;
// This thread has a ticket. A handler that it calls must not wait for a later one's turn.
static __thread volatile bool is_asking;
// Under the lock: tickets after the oldest whose threads had the lock already.
static bool is_served[TICKETS_MAX];
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

static bool try_take(void) {
    uint32_t expected = 0;
    return __atomic_load_n(&tau_lock.word, __ATOMIC_RELAXED) == 0 &&
           __atomic_compare_exchange_n(&tau_lock.word, &expected, tau_lock_my_id, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

// Whether others may pass the thread whose turn it is.
static bool is_open(void) {
    return __atomic_load_n(&tau_lock.passes, __ATOMIC_RELAXED) < TAU_LOCK_PASSES_MAX;
}

static bool is_admitted(uint32_t ticket) {
    const int32_t ahead = (int32_t)(ticket - __atomic_load_n(&tau_lock.turn, __ATOMIC_SEQ_CST));
    return ahead <= 0 || (is_open() && ahead < (int32_t)TICKETS_MAX);
}

static bool spin_and_take(uint32_t ticket) {
    for (unsigned spin = 0; spin < SPINS_COUNT && is_admitted(ticket); spin++) {
        if (try_take()) {
            return true;
        }
        tau_machine_pause();
    }
    return false;
}

static void count_pass(void) {
    __atomic_store_n(&tau_lock.passes, tau_lock.passes + 1, __ATOMIC_RELAXED);
}

// Takes the lock if it is free and nobody has been passed too often.
static bool pass(void) {
    const bool is_taken = is_open() && try_take();
    if (is_taken && tau_lock_has_waiters()) {
        count_pass();
    }
    return is_taken;
}

// By the lock's owner. A bit of the kernel's makes the release a slow one, which wakes who sleeps.
// If a handler forks meanwhile, the child has another turn.
static void end_turn(uint32_t turn) {
    uint32_t next = turn;
    do {  // bound: waiting threads
        is_served[next++ % TICKETS_MAX] = false;
    } while (is_served[next % TICKETS_MAX]);
    __atomic_store_n(&tau_lock.passes, 0, __ATOMIC_RELAXED);
    __atomic_compare_exchange_n(&tau_lock.turn, &turn, next, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_RELAXED);
    if (sleepers != 0) {
        is_wake_due = true;
        __atomic_fetch_or(&tau_lock.word, FUTEX_WAITERS, __ATOMIC_RELAXED);
    }
}

// The lock's new owner had TICKET.
static void give_up(uint32_t ticket) {
    const uint32_t turn = __atomic_load_n(&tau_lock.turn, __ATOMIC_RELAXED);
    if (ticket == turn) {
        end_turn(turn);
    } else if ((int32_t)(ticket - turn) > 0) {
        is_served[ticket % TICKETS_MAX] = true;
        count_pass();
    }
}

static bool is_fair(void) {
    const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
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
static void take_in_kernel(void) {
    struct timespec until = soon();
    while (syscall(SYS_futex, &tau_lock.word, FUTEX_LOCK_PI_PRIVATE, 0, &until, NULL, 0) != 0) {
        sched_yield();
        if (try_take()) {
            break;
        }
        until = soon();
    }
}

// Sleeps until it is the turn of TICKET, unless others may pass by now. A handler may fork: nobody
// sleeps in the child. Returns whether TURN was not given up for TURN_S; then all may pass.
static bool sleep_until_turn(uint32_t ticket, uint32_t *turn) {
    struct timespec until;
    bool is_late = false;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += TURN_S;
    sleepers++;
    *turn = __atomic_load_n(&tau_lock.turn, __ATOMIC_SEQ_CST);
    if (!is_admitted(ticket)) {
        is_late = syscall(SYS_futex, &tau_lock.turn, FUTEX_WAIT_BITSET_PRIVATE, *turn, &until, NULL,
                          1u << ticket % BITS) != 0 &&
                  errno == ETIMEDOUT;
    }
    sleepers -= sleepers != 0;
    if (is_late && __atomic_load_n(&tau_lock.turn, __ATOMIC_RELAXED) == *turn) {
        __atomic_store_n(&tau_lock.passes, 0, __ATOMIC_RELAXED);
    }
    return is_late;
}

// Takes a ticket, and the lock.
static void ask(void) {
    const uint32_t ticket = __atomic_fetch_add(&tau_lock.asked, 1, __ATOMIC_RELAXED);
    uint32_t turn = ticket;
    uint32_t seen;
    bool is_late = false;
    bool is_taken = spin_and_take(ticket);
    // bound: YIELDS_COUNT, then until others may pass or it is the ticket's turn
    for (unsigned yield = 0; !is_taken && (yield < YIELDS_COUNT || !is_admitted(ticket)); yield++) {
        if (is_admitted(ticket)) {
            sched_yield();
        } else if (sleep_until_turn(ticket, &seen)) {
            turn = seen;
            is_late = true;
        }
        is_taken = spin_and_take(ticket);
    }
    if (!is_taken) {
        take_in_kernel();
    }
    give_up(ticket);
    if (is_late && __atomic_load_n(&tau_lock.turn, __ATOMIC_RELAXED) == turn) {
        end_turn(turn);
    }
}

// A real-time thread sleeps at once, in the kernel's queue: only then does the owner have its
// priority, and it has the lock before all that have tickets.
__attribute__((cold)) void tau_lock_wait(void) {
    if (tau_lock_my_id == 0) {
        tau_lock_my_id = (uint32_t)syscall(SYS_gettid);
        __atomic_fetch_add(&tau_lock_threads, 1, __ATOMIC_RELAXED);
    }
    if (pass()) {
        return;
    }
    const int error = errno;
    if (is_asking || !is_fair()) {
        take_in_kernel();
    } else {
        is_asking = true;
        ask();
        is_asking = false;
    }
    errno = error;
}

__attribute__((cold)) void tau_lock_wake(void) {
    const int error = errno;
    if (syscall(SYS_futex, &tau_lock.word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0) != 0) {
        __atomic_store_n(&tau_lock.word, 0,
                         __ATOMIC_RELEASE);  // no such futexes, or not the owner it knows
    }
    if (is_wake_due) {
        is_wake_due = false;
        syscall(SYS_futex, &tau_lock.turn, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, NULL, NULL,
                1u << __atomic_load_n(&tau_lock.turn, __ATOMIC_RELAXED) % BITS);
    }
    errno = error;
}

bool tau_lock_is_mine(void) {
    const uint32_t owner = __atomic_load_n(&tau_lock.word, __ATOMIC_RELAXED) & FUTEX_TID_MASK;
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
    sleepers = 0;
    tau_lock.turn = tau_lock.asked;
    tau_lock.passes = 0;
    memset(is_served, 0, sizeof is_served);
    __atomic_store_n(&tau_lock.word, tau_lock_my_id, __ATOMIC_RELAXED);
    if (fork_has_streams) {
        _IO_list_resetlock();
    }
}
